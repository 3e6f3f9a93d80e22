#!/usr/bin/env python3
"""Writes a small model with made_model, as a folder and as GGUF files, and runs it with hearth."""

from __future__ import annotations

import argparse
import json
import pathlib
import shlex
import subprocess
import tempfile

import numpy as np

CONFIG = {
    "architectures": ["DeepseekV3ForCausalLM"], "first_k_dense_replace": 1, "hidden_size": 256,
    "intermediate_size": 384, "kv_lora_rank": 128, "max_position_embeddings": 512,
    "moe_intermediate_size": 128, "n_group": 4, "n_routed_experts": 8, "n_shared_experts": 1,
    "norm_topk_prob": True, "num_attention_heads": 4, "num_experts_per_tok": 2,
    "num_hidden_layers": 3, "num_key_value_heads": 4, "q_lora_rank": 128, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "rms_norm_eps": 1e-6, "rope_theta": 10000, "topk_group": 2,
    "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "topk_method": "noaux_tc",
    "torch_dtype": "bfloat16", "v_head_dim": 128, "vocab_size": 12288,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}  # fmt: skip
GPT_OSS = {
    "architectures": ["GptOssForCausalLM"], "head_dim": 64, "hidden_size": 192,
    "intermediate_size": 160, "max_position_embeddings": 2048, "num_attention_heads": 8,
    "num_experts_per_tok": 2, "num_hidden_layers": 2, "num_key_value_heads": 2,
    "num_local_experts": 8, "rms_norm_eps": 1e-5, "rope_theta": 150000, "sliding_window": 128,
    "rope_scaling": {"rope_type": "yarn", "factor": 32, "truncate": False,
                     "original_max_position_embeddings": 64},
    "swiglu_limit": 7.0, "torch_dtype": "bfloat16", "vocab_size": 4096,
    "quantization_config": {"quant_method": "mxfp4"},
}  # fmt: skip

QWEN35 = {
    "architectures": ["Qwen3_5ForCausalLM"], "head_dim": 64, "hidden_size": 256,
    "intermediate_size": 512, "full_attention_interval": 2, "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 64, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
    "linear_value_head_dim": 64, "max_position_embeddings": 512, "num_attention_heads": 4,
    "num_hidden_layers": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-6, "rope_theta": 1e7,
    "tie_word_embeddings": True, "torch_dtype": "bfloat16", "vocab_size": 4096,
}  # fmt: skip
LFM2 = {
    "architectures": ["Lfm2ForCausalLM"], "block_ff_dim": 768, "conv_L_cache": 3,
    "full_attn_idxs": [1], "hidden_size": 256, "max_position_embeddings": 512,
    "num_attention_heads": 4, "num_hidden_layers": 3, "num_key_value_heads": 2, "norm_eps": 1e-5,
    "torch_dtype": "bfloat16", "vocab_size": 4096,
}  # fmt: skip
GEMMA4 = {
    "architectures": ["Gemma4ForCausalLM"], "final_logit_softcapping": 30.0, "global_head_dim": 64,
    "head_dim": 32, "hidden_size": 256, "intermediate_size": 288, "max_position_embeddings": 512,
    "num_attention_heads": 4, "num_hidden_layers": 3, "num_key_value_heads": 2, "vocab_size": 4096,
    "layer_types": ["sliding_attention", "full_attention", "full_attention"],
    "sliding_window": 64, "torch_dtype": "bfloat16",
}  # fmt: skip
GEMMA4_E = {**GEMMA4, "hidden_size_per_layer_input": 64, "num_kv_shared_layers": 1}
GEMMA4_A = {
    **GEMMA4, "attention_k_eq_v": True, "enable_moe_block": True, "hidden_size_per_layer_input": 0,
    "moe_intermediate_size": 96, "num_experts": 8, "num_global_key_value_heads": 1,
    "top_k_experts": 2,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--hearth", required=True)
    parser.add_argument("--emulator", default="")
    args = parser.parse_args()
    emulator = [part for part in args.emulator.split(";") if part]

    def run(*command: str) -> None:
        done = subprocess.run([*emulator, *command], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{shlex.join(command)}: {done.stderr}")

    def check(folder: pathlib.Path, config: dict, types: tuple[str, ...]) -> pathlib.Path:
        """Writes the model and runs it; returns the path of config.json."""
        path = folder / "config.json"
        path.write_text(json.dumps(config))
        models = {"folder": []}
        for kind in types:
            models[f"{kind}.gguf"] = ["--type", kind]
        for model, options in models.items():
            out = folder / "out.npy"
            run(args.program, str(path), str(folder / model), *options)
            run(args.hearth, "logits", str(folder / model), "--tokens", "1,2,3,4", "-o", str(out))
            logits = np.load(out)
            if logits.shape != (4, config["vocab_size"]) or not np.isfinite(logits).all():
                raise SystemExit(f"{model}: logits of shape {logits.shape}, or not finite")
            if not 0.1 < logits.std() < 100:
                raise SystemExit(f"{model}: logits deviate by {logits.std()}")
        return path

    for config, kinds in ((GPT_OSS, ("mxfp4", "f16")), (QWEN35, ("q4_k_m",)), (LFM2, ("q4_k_m",)),
                          (GEMMA4_E, ("q4_0",)), (GEMMA4_A, ("q4_k_m",))):  # fmt: skip
        with tempfile.TemporaryDirectory() as name:
            check(pathlib.Path(name), config, kinds)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        config = check(folder, CONFIG, ("bf16", "q4_0", "q4_k_m", "q8_0"))
        file = folder / "q8_0.gguf"
        first = file.read_bytes()
        run(args.program, str(config), str(file), "--type", "q8_0", "--seed", "2")
        if file.read_bytes() == first:
            raise SystemExit("two seeds gave the same bytes")


main()
