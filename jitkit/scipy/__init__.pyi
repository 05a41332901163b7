from . import linalg as linalg
from . import special as special
from . import stats as stats
