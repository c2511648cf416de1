"""Lists the attributes of vLLM's objects that the adapter reads."""

from __future__ import annotations

from typing import Final

from runtime_hooks.engines.checks import Reads

__all__ = ["READS"]

_CORE: Final = "vllm.v1.core."
_OFFLOADING: Final = "vllm.distributed.kv_transfer.kv_connector.v1.offloading"
_TIER: Final = "vllm.v1.kv_offload.base:"

READS: Final = (
    Reads(
        f"{_CORE}sched.scheduler:Scheduler",
        (
            "requests",
            "running",
            "waiting",
            "kv_holding_waiting",
            "deferred_frees",
            "failed_recving_kv_req_ids",
            "kv_cache_manager",
            "vllm_config",
            "cache_config",
            "kv_cache_config",
            "connector",
            "block_size",
            "hash_block_size",
            "max_model_len",
            "num_lookahead_tokens",
            "num_spec_tokens",
        ),
    ),
    Reads("vllm.v1.engine.core:EngineCoreProc", ("input_queue", "_idle_state_callbacks")),
    Reads("vllm.v1.engine:EngineCoreRequestType", ("WAKEUP",)),
    Reads(
        "vllm.config.vllm:VllmConfig",
        (
            "parallel_config",
            "model_config",
            "scheduler_config",
            "speculative_config",
            "lora_config",
            "kv_transfer_config",
        ),
    ),
    Reads("vllm.config.scheduler:SchedulerConfig", ("get_scheduler_cls",)),
    Reads("vllm.config.speculative:SpeculativeConfig", ("method",)),
    Reads(
        "vllm.config.kv_transfer:KVTransferConfig",
        ("kv_connector", "kv_connector_module_path", "kv_connector_extra_config"),
    ),
    Reads(
        "vllm.config.parallel:ParallelConfig",
        (
            "data_parallel_size",
            "data_parallel_index",
            "data_parallel_hybrid_lb",
            "data_parallel_external_lb",
            "reconfigure_for_independent_dp_rank",
            "elastic_ep_max_dp_size",
            "tensor_parallel_size",
            "pipeline_parallel_size",
            "prefill_context_parallel_size",
            "decode_context_parallel_size",
        ),
    ),
    Reads(
        "vllm.config.cache:CacheConfig",
        ("enable_prefix_caching", "prefix_caching_hash_algo", "cache_dtype"),
    ),
    Reads(
        "vllm.config.model:ModelConfig",
        ("model", "tokenizer", "dtype", "is_multimodal_model", "is_moe"),
    ),
    Reads("vllm.v1.kv_cache_interface:KVCacheConfig", ("kv_cache_groups",)),
    Reads("vllm.v1.kv_cache_interface:KVCacheGroupSpec", ("kv_cache_spec",)),
    Reads("vllm.v1.kv_cache_interface:SlidingWindowSpec", ("sliding_window",)),
    Reads(
        f"{_CORE}kv_cache_manager:KVCacheManager",
        ("block_pool", "coordinator", "get_block_ids", "get_blocks"),
    ),
    Reads(
        f"{_CORE}kv_cache_coordinator:KVCacheCoordinator",
        ("eagle_group_ids", "enable_partial_hash_hits", "single_type_managers"),
    ),
    Reads(
        f"{_CORE}single_type_kv_cache_manager:SingleTypeKVCacheManager",
        ("block_size", "max_admission_blocks_per_request", "num_cached_block"),
    ),
    Reads(
        f"{_CORE}single_type_kv_cache_manager:MambaManager",
        ("mamba_cache_mode", "num_speculative_blocks", "has_prefill_checkpoint_blocks"),
    ),
    Reads(f"{_CORE}kv_cache_manager:KVCacheBlocks", ("blocks",)),
    Reads(
        f"{_CORE}block_pool:BlockPool",
        ("num_gpu_blocks", "blocks", "cached_block_hash_to_block", "free_block_queue"),
    ),
    Reads(f"{_CORE}block_pool:BlockHashToBlockMap", ("_cache",)),
    Reads(
        f"{_CORE}kv_cache_utils:KVCacheBlock",
        ("block_id", "block_hash", "is_null", "ref_cnt", "next_free_block"),
    ),
    Reads(
        f"{_CORE}kv_cache_utils:FreeKVCacheBlockQueue",
        ("num_free_blocks", "fake_free_list_head", "prepend_n", "append"),
    ),
    Reads(
        "prometheus_fastapi_instrumentator.instrumentation:CollectorRegistry",
        ("register", "unregister"),
        does="adds the metrics of claims to the server's, with several API processes",
    ),
    Reads(
        "vllm.v1.request:Request",
        (
            "request_id",
            "kv_transfer_params",
            "kv_hints",
            "block_hashes",
            "prompt_token_ids",
            "num_prompt_tokens",
            "num_tokens",
            "max_tokens",
            "num_computed_tokens",
            "skip_reading_prefix_cache",
            "resumable",
            "cache_salt",
            "lora_request",
            "status",
            "client_index",
            "trace_headers",
            "take_events",
            "is_finished",
            "sampling_params",
        ),
    ),
    Reads("vllm.sampling_params:SamplingParams", ("stop", "extra_args")),
    Reads(
        "vllm.v1.engine.core_client:DPLBAsyncMPClient",
        ("reqs_in_flight", "lb_engines", "core_engines", "client_count"),
    ),
    Reads(
        "vllm.v1.engine:EngineCoreRequest",
        (
            "request_id",
            "prompt_token_ids",
            "sampling_params",
            "cache_salt",
            "lora_request",
            "kv_hints",
            "data_parallel_rank",
        ),
    ),
    Reads("vllm.v1.engine.async_llm:AsyncLLM", ("output_processor",)),
    Reads("vllm.v1.engine.output_processor:OutputProcessor", ("abort_requests",)),
    Reads(
        "vllm.v1.request:RequestStatus",
        ("RUNNING", "WAITING_FOR_REMOTE_KVS", "FINISHED_ABORTED", "FINISHED_ERROR"),
    ),
    Reads("vllm.lora.request:LoRARequest", ("lora_name",)),
    Reads("vllm.v1.engine:FinishReason", ("ABORT",)),
    Reads(
        "vllm.v1.engine:EngineCoreOutput",
        (
            "request_id",
            "new_token_ids",
            "finish_reason",
            "stop_reason",
            "events",
            "kv_transfer_params",
            "trace_headers",
        ),
    ),
    Reads("vllm.v1.engine:EngineCoreOutputs", ("outputs",)),
    Reads(f"{_CORE}sched.output:SchedulerOutput", ("total_num_scheduled_tokens",)),
    Reads("vllm.v1.outputs:ModelRunnerOutput", ("kv_connector_output",)),
    Reads(
        "vllm.v1.outputs:KVConnectorOutput",
        ("finished_recving", "invalid_block_ids", "kv_connector_worker_meta"),
    ),
    Reads("vllm.v1.engine.core:EngineCore", ("scheduler",)),
    Reads(
        "vllm.v1.kv_hints.protocol:KvHintsEnvelope", ("actions", "message_id", "protocol_version")
    ),
    Reads(
        "vllm.v1.kv_hints.protocol:KvHintAction",
        ("action_id", "action_type", "action_version", "payload"),
    ),
    Reads("vllm.entrypoints.generate.base.serving:GenerateBaseServing", ("engine_client",)),
    Reads("vllm.outputs:RequestOutput", ("kv_transfer_params", "outputs")),
    Reads("vllm.outputs:CompletionOutput", ("stop_reason",)),
    Reads(
        f"{_OFFLOADING}_connector:OffloadingConnector", ("connector_scheduler", "connector_worker")
    ),
    Reads(f"{_OFFLOADING}.scheduler:OffloadingConnectorScheduler", ("config", "manager", "_jobs")),
    Reads(f"{_OFFLOADING}.scheduler:SchedulerOffloadConfig", ("blocks_per_chunk",)),
    Reads(f"{_OFFLOADING}.scheduler:TransferJobStatus", ("keys",)),
    Reads(f"{_OFFLOADING}.worker:OffloadingConnectorWorker", ("spec", "worker")),
    Reads(f"{_TIER}OffloadingSpec", ("blocks_per_chunk",)),
    Reads("vllm.v1.kv_offload.cpu.spec:CPUOffloadingSpec", ("num_chunks",)),
    Reads(f"{_TIER}ReqContext", ("req_id",)),
    Reads(f"{_TIER}LookupResult", ("HIT",)),
    Reads(f"{_TIER}PrepareStoreOutput", ("evicted_keys",)),
    Reads(f"{_TIER}TransferResult", ("job_id", "success")),
    Reads(
        f"{_TIER}OffloadingWorker",
        ("get_finished", "wait", "shutdown"),
    ),
    Reads(f"{_TIER}CanonicalKVCaches", ("tensors", "group_data_refs")),
    Reads(f"{_TIER}CanonicalKVCacheRef", ("tensor_idx", "page_size_bytes")),
    Reads(f"{_TIER}GPULoadStoreSpec", ("group_sizes",)),
    Reads(f"{_TIER}CanonicalKVCacheTensor", ("tensor",)),
    Reads(f"{_TIER}BlockIDsLoadStoreSpec", ("block_ids",)),
    Reads(
        "vllm.v1.kv_offload.cpu.manager:CPUOffloadingManager",
        ("lookup", "prepare_load", "complete_load"),
    ),
)
