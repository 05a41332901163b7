"""what runs in the jail: a zygote, the workers that it forks, and the wall around each of them; nothing here imports the rest"""
