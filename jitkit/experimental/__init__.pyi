from ..base.switches import enable_x64 as enable_x64
from ..lax.callback import io_callback as io_callback
from . import checkify as checkify
from . import shard_map as shard_map
