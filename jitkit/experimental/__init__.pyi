from ..base.switches import enable_x64 as enable_x64
from ..lax.callback import io_callback as io_callback
from . import checkify as checkify
from . import hijax as hijax
from . import layout as layout
from . import shard_map as shard_map
from . import sparse as sparse
from .hijax import cur_qdd as cur_qdd
