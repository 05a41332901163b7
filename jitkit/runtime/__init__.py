"""Connects jitkit with the machine: arrays, and everything that jax and jaxlib are used for.

Input: StableHLO text, and values in the host's memory. Output: executables and buffers. Besides this package only
`targets.worker` and `kata.engine.worker`, in other processes, name jaxlib's private entry points. In the order of reading:

    jaxlib       the gate: opens at the first buffer, device or executable
    transfers    blocks in which transfers are guarded
    python_halves  the methods that JAX adds to jaxlib's classes, for programs that do not import JAX
    beside_jax   JAX, if a program imports or needs it
    accelerators   whether the machine may have accelerators, which JAX then finds
    devices, drawn_shardings  devices, which of them hold which part of an array; a drawing of that
    meshes       the mesh of the context, and what shardings say of each axis
    device_class  classes that are loaded on first use
    buffers      value -> buffer
    compiling    StableHLO text -> loaded executable
    executing    loaded executable + buffers -> buffers
    array        value -> Array: an aval and a handle on a buffer
    layouts, putting  the layout of an array in memory; value + place -> an Array there
    placing      `device_get`, `block_until_ready`, `devices`: the functions for users
    from_parts   parts of an array + sharding -> Array
    environment_info  what a report of a bug needs
    argument_keys  argument of a call -> its key in a cache
    foreign_nodes  classes that only JAX's registry of pytrees knows
    tokens       runs programs with effects, in their order

Other modules write `runtime.NAME` for the names below, or import from a module here, mostly from `array`.

JAX: jax/_src/interpreters/pxla.py:ExecuteReplicated
"""

from __future__ import annotations

from .beside_jax import buffer_for_jax as buffer_for_jax
from .beside_jax import for_jax as for_jax
from .beside_jax import is_asked_by_jax as is_asked_by_jax
from .beside_jax import jax as jax
from .beside_jax import keep_apart as keep_apart
from .beside_jax import let_jax_take as let_jax_take
from .buffers import Buffer as Buffer
from .buffers import address as address
from .buffers import address_of as address_of
from .buffers import aligned as aligned
from .buffers import aval_of_buffer as aval_of_buffer
from .buffers import copy_to_host_async as copy_to_host_async
from .buffers import dlpack as dlpack
from .buffers import dlpack_device as dlpack_device
from .buffers import from_cuda as from_cuda
from .buffers import from_dlpack as from_dlpack
from .buffers import is_buffer as is_buffer
from .buffers import key_of_buffer as key_of_buffer
from .buffers import let_go as let_go
from .buffers import put as put
from .compiling import avals_of_results as avals_of_results
from .compiling import compile_text as compile_text
from .compiling import compile_with_callbacks as compile_with_callbacks
from .compiling import cost_of_executable as cost_of_executable
from .compiling import cost_of_text as cost_of_text
from .compiling import cpu_features as cpu_features
from .compiling import deserialize as deserialize
from .compiling import folder_of_headers as folder_of_headers
from .compiling import hlo_computation as hlo_computation
from .compiling import hlo_of_text as hlo_of_text
from .compiling import memory_of_executable as memory_of_executable
from .compiling import mlir_context as mlir_context
from .compiling import mlir_module as mlir_module
from .compiling import platform_fingerprint as platform_fingerprint
from .compiling import portable_artifact as portable_artifact
from .compiling import prepare_lapack as prepare_lapack
from .compiling import register_call_target as register_call_target
from .compiling import register_call_type as register_call_type
from .compiling import serialize as serialize
from .compiling import text_of_artifact as text_of_artifact
from .devices import Device as Device
from .devices import Elsewhere as Elsewhere
from .devices import OnHost as OnHost
from .devices import Placed as Placed
from .devices import Sharding as Sharding
from .devices import default_backend as default_backend
from .devices import default_device as default_device
from .devices import describe_sharding as describe_sharding
from .devices import devices as devices
from .devices import first_device as first_device
from .devices import in_device_memory as in_device_memory
from .devices import in_memory as in_memory
from .devices import is_equivalent as is_equivalent
from .devices import is_first as is_first
from .devices import is_over_mesh as is_over_mesh
from .devices import lowering_platform as lowering_platform
from .devices import mesh_text as mesh_text
from .devices import on_host as on_host
from .devices import placed as placed
from .devices import replicated as replicated
from .devices import result_shardings as result_shardings
from .devices import sharding_devices as sharding_devices
from .devices import sharding_text as sharding_text
from .devices import single_device_sharding as single_device_sharding
from .devices import uncommitted as uncommitted
from .devices import with_whole_axis as with_whole_axis
from .executing import block_until_ready as block_until_ready
from .executing import execute_with_tokens as execute_with_tokens
from .executing import host_dispatcher as host_dispatcher
from .executing import result_handlers as result_handlers
from .executing import wait_for as wait_for
from .jaxlib import before_guards as before_guards
from .jaxlib import deleted_error as deleted_error
from .jaxlib import explained as explained
from .jaxlib import explicit_transfers as explicit_transfers
from .jaxlib import gate as gate
