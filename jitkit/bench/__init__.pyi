from .notebook import compare as compare
from .notebook import misses as misses
from .notebook import timed as timed
