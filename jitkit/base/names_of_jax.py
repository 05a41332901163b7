"""The public names of JAX that jitkit lacks, by module. `python tests/parity.py --write` writes the table.

`missing_names` uses it to say whether JAX has a missing name. A name that jitkit has since got does no harm here.

JAX: jax/__init__.py:__getattr__
"""

from __future__ import annotations

import re

_TABLE = """\
: Shard ad allow_f16_reductions array_garbage_collection_guard auto_pcast cloud_tpu_init ds empty_ref enable_checks
enable_custom_prng free_ref freeze get_abstract_mesh get_mesh host_count host_id host_ids
jax2tf_associative_scan_reductions legacy_prng_key make_user_context ref remove_size_one_mesh_axis_from_type smap
softmax_custom_jvp thread_guard tools use_abstract_mesh
numpy: minmax top_k
numpy.linalg:
numpy.fft:
lax: composite one_minus_square one_minus_square_p polynomial polynomial_p precv psend psum_scatter_start
ragged_all_to_all ragged_all_to_all_p scaled_dot select_and_scatter_p
lax.linalg:
nn: get_scaled_dot_general_config scaled_dot_general scaled_matmul
nn.initializers:
random: Key random_gamma_p
tree_util:
tree:
debug: DebugEffect OrderedDebugEffect breakpoint log
errors: InconclusiveDimensionOperation
experimental: EArray buffer_callback compute_on control_deps custom_partitioning fused jax2tf key_reuse mosaic overlap
primal_tangent_dtype profiler random rnn roofline scheduling_groups shard_alike source_mapper thunky topologies
transfer xla_metadata
config: allow_f16_reductions array_garbage_collection_guard auto_pcast backend_target bcoo_cusparse_lowering
check_proxy_envs check_static_indices check_vma compiler_enable_remat_pass cpu_collectives_implementation
cpu_get_global_topology_timeout_minutes cpu_get_local_topology_timeout_minutes cross_host_transfer_socket_address
cross_host_transfer_timeout_seconds cross_host_transfer_transfer_size cross_host_transport_addresses
cuda_visible_devices custom_vjp3 debug_leaked_clients_on_clear_backends disable_bwd_checks disable_vmap_shmap_error
disallow_mesh_context_manager dump_ir_modes dump_ir_to eager_constant_folding embedded_constants_max_bytes
enable_custom_prng enable_preemption_service enable_recoverability error_checking_behavior_divide
error_checking_behavior_nan error_checking_behavior_oob experimental_unsafe_xla_runtime_errors explicit_x64_dtypes
export_calling_convention_version export_ignore_forward_compatibility force_dcn_cross_host_transfers
high_dynamic_range_gumbel jax2tf_associative_scan_reductions jax2tf_default_native_serialization legacy_prng_key
log_checkpoint_residuals mock_gpu_topology mock_num_gpu_processes mosaic_allow_hlo mutable_array_checks
oneapi_visible_devices pallas_enable_debug_checks pallas_poison_buffers pallas_use_mosaic_gpu pallas_verbose_errors
pgle_aggregation_percentile pgle_profiling_runs pjrt_client_create_options ragged_dot_use_gpu_pallas_triton_lowering
ragged_dot_use_ragged_dot_instruction random_seed_offset refs_to_pins remat3
remove_custom_partitioning_ptr_from_cache_key remove_size_one_mesh_axis_from_type rocm_visible_devices scan3
send_traceback_to_runtime serialization_version share_binary_between_hosts share_binary_between_hosts_timeout_ms
softmax_custom_jvp sort_devices_by_process_index source_url_schema thread_guard threefry_gpu_kernel_lowering
use_direct_linearize use_emit_pipeline_primitive use_magma use_simplified_jaxpr_constants xla_backend
xla_profile_version
experimental.hijax: AbstractRef GradAccum HiPrim HiPspec MappingSpec NullAccum RefAccum ShapedArray TransformedRef
VJPHiPrimitive ValAccum bdims_at_front jvp_from_lin linearize_from_jvp unmap_avals vjp_from_jvp vjp_from_lin vmap_rule
experimental.layout: explicit_layout with_layout_constraint
extend: lowering mlir pallas xla
extend.backend: backend_xla_version clear_backends clear_in_memory_compilation_cache get_compile_options ifrt_proxy
register_backend_cache register_backend_factory
extend.core: CallPrimitive InconclusiveDimensionOperation Token call_impl nonempty_axis_env_DO_NOT_USE
unsafe_am_i_under_a_jit_DO_NOT_USE unsafe_am_i_under_a_vmap_DO_NOT_USE unsafe_get_axis_names_DO_NOT_USE
extend.linear_util:
extend.random:
extend.source_info_util: NameStack current_name_stack new_name_stack reset_name_stack set_name_stack
transform_name_stack
experimental.sparse: COO CSC CSR CuSparseEfficiencyWarning SparseEfficiencyError SparseEfficiencyWarning SparseTracer
ad api bcoo_broadcast_in_dim bcoo_concatenate bcoo_conv_general_dilated bcoo_dot_general_p bcoo_dot_general_sampled
bcoo_dot_general_sampled_p bcoo_dynamic_slice bcoo_extract bcoo_extract_p bcoo_fromdense_p bcoo_gather
bcoo_multiply_dense bcoo_reshape bcoo_rev bcoo_slice bcoo_sort_indices bcoo_sort_indices_p bcoo_spdot_general_p
bcoo_squeeze bcoo_sum_duplicates bcoo_sum_duplicates_p bcoo_todense_p bcoo_transpose_p bcoo_update_layout
bcsr_broadcast_in_dim bcsr_concatenate bcsr_dot_general_p bcsr_extract bcsr_extract_p bcsr_fromdense_p
bcsr_sum_duplicates bcsr_todense_p coo coo_fromdense coo_fromdense_p coo_matmat coo_matmat_p coo_matvec coo_matvec_p
coo_todense coo_todense_p csr csr_fromdense csr_fromdense_p csr_matmat csr_matmat_p csr_matvec csr_matvec_p
csr_todense csr_todense_p grad jacfwd jacobian jacrev random random_bcoo todense_p util value_and_grad
ops:
scipy:
scipy.special: erfcinv
scipy.linalg:
scipy.stats:
scipy.stats.norm:
scipy.signal:
scipy.ndimage:
scipy.fft:
scipy.integrate:
scipy.interpolate:
scipy.optimize:
scipy.sparse.linalg:
scipy.cluster.vq:
scipy.spatial.transform: Rotation Slerp
image:
sharding: UnreducedKind auto_axes explicit_axes no_collectives use_abstract_mesh
stages: CompilerOptions
dtypes:
typing:
test_util:
core: ParamDict Value eval_context max_dim min_dim
ref: AbstractRef Ref addupdate empty_ref free_ref freeze get new_ref set swap
monitoring:
custom_derivatives:
ad_checkpoint: checkpoint_name_fwd
api_util: argnums_partial donation_vector flatten_axes rebase_donate_argnums
interpreters.ad: add_jaxvals add_jaxvals_p backward_pass get_primitive_transpose linearize zeros_like_aval
interpreters.batching: batch_jaxpr_axes batch_subtrace unregister_vmappable zero_if_mapped
interpreters.mlir: AxisContext ConstantHandler DEVICE_TO_DEVICE_TYPE LoweringParameters LoweringResult Mesh
MeshAxisName ModuleContext RECV_FROM_HOST_TYPE SEND_TO_HOST_TYPE SPMDAxisContext ShapePolyLoweringState
ShardingContext Token TokenSet Value aval_to_ir_type aval_to_ir_types core_call_lowering dense_int_array
dense_int_elements dtype_to_ir_type emit_python_callback flatten_ir_types flatten_ir_values i32_attr i64_attr ir
ir_attribute ir_constant ir_constants ir_tree_registry ir_type_handlers jaxpr_subcomp lower_jaxpr_to_fun
lower_jaxpr_to_module lowerable_effects make_ir_context merge_mlir_modules module_to_bytecode module_to_string
register_constant_handler shape_tensor token_type unflatten_ir_values_like_types
interpreters.partial_eval: Val abstract_eval_fun close_jaxpr convert_constvars_jaxpr custom_partial_eval_rules
dce_jaxpr_call_rule dce_jaxpr_closed_call_rule dce_rules lower_jaxpr lower_jaxpr2 move_binders_to_back new_eqn_recipe
partial_eval_jaxpr_custom_rules partial_eval_jaxpr_nounits prune_closed_jaxpr_outputs
interpreters.xla: Backend
flatten_util:
custom_batching:
export: SymbolicScope symbolic_args_specs symbolic_dim_bounds symbolic_shape
profiler: ProfileLine ProfileSession export_profile_data
dlpack:
distributed:
ffi: abstract_token build_ffi_lowering_function ffi_lowering register_ffi_target_as_batch_partitionable
register_ffi_type_id
"""

# The module's path below `jax` ("" for itself), and its names. A long line continues in the next.
BY_MODULE: dict[str, frozenset[str]] = {
    line.partition(":")[0]: frozenset(line.partition(":")[2].split())
    for line in re.sub(r"\n(?!\S*:)", " ", _TABLE).splitlines()
}


def is_in_jax(inside: str, name: str) -> bool:
    """Return whether a module of JAX has a name that ours lacks, or a submodule (which may not be imported yet)."""
    below = f"{inside}.{name}".lstrip(".")
    return name in missing(inside) or any(f"{module}.".startswith(f"{below}.") for module in BY_MODULE)


def missing(inside: str) -> frozenset[str]:
    """Return the names of a JAX module that ours lacks; `inside` is its path below `jax`."""
    return BY_MODULE.get(inside, frozenset())


def sentence(name: str) -> str:
    """Return a sentence about a name of JAX's that is not here: `jax.numpy.sin` with all its modules."""
    return f"JAX has `{name}`, and jitkit has not: docs/parity.md lists what is missing."
