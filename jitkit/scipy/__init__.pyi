from . import fft as fft
from . import integrate as integrate
from . import linalg as linalg
from . import ndimage as ndimage
from . import optimize as optimize
from . import sparse as sparse
from . import special as special
from . import stats as stats
