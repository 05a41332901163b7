from . import backend as backend
from . import core as core
from . import ifrt_programs as ifrt_programs
from . import linear_util as linear_util
from . import random as random
from . import sharding as sharding
from . import source_info_util as source_info_util
