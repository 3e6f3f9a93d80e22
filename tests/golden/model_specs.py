"""The tiny models of the golden set: their architectures, odd shapes and types.

Every shape is chosen to break a tidy assumption: head counts that are not powers of two, head
lengths that no vector register divides, embeddings and FFN rows that fill no tile, vocabularies
that end inside one. Where a type's blocks do not divide a row, llama.cpp's fallback is used: a
32-block type for a K-quant, and F16 for that.
"""

from __future__ import annotations

import dataclasses

import gemma
import hybrid
import lfm
import quants
import reference
from quants import Type, block_length


@dataclasses.dataclass(frozen=True)
class Experts:
    """The mixture of experts in a layer, in place of an FFN."""

    count: int
    used: int
    ffn: int
    dense: int = 0  # this many layers in front have an FFN
    shared: int = 0  # experts that every token takes, stored as one of this many times the width
    sigmoid: bool = False
    gating_key: bool = False  # expert_gating_func is in the file
    bias: float = 0.0  # the largest of exp_probs_b; 0: no such tensor
    groups: int = 0  # 0: no keys of groups
    groups_used: int = 0
    normed: bool | None = None  # expert_weights_norm; None: not in the file
    scale: float = 0.0  # expert_weights_scale; 0: not in the file
    fused: bool = False  # gate and up of all experts in one tensor
    gate: bool = False  # a gate for the shared experts' weight
    nextn: int = 0  # layers after the others that predict further tokens
    twins: tuple[tuple[int, int], ...] = ()  # pairs of experts with one row in the router
    of_chosen: bool = False  # weights are the softmax of the chosen logits
    biases: bool = False  # of the router, and of all matrices of experts


@dataclasses.dataclass(frozen=True)
class Mla:
    """Lengths of multi-head latent attention."""

    latent: int
    nope: int
    rope: int
    value: int
    query: int = 0  # the length of the latent of queries; 0: none


@dataclasses.dataclass(frozen=True)
class Delta:
    """The heads of a gated delta rule, and the layers that have attention instead."""

    keys: int
    values: int
    length: int
    taps: int = 4
    interval: int = 4
    full: tuple[bool, ...] = ()  # by layer, as in attention.recurrent_layers; (): by interval


@dataclasses.dataclass(frozen=True)
class Gemma4:
    """The properties that differ between layers, and those that the last layers share."""

    windowed: tuple[bool, ...]
    kv_heads: tuple[int, ...]
    ffn: tuple[int, ...]
    local_key: int  # key length of heads in layers with a window
    shared: int = 0  # this many layers at the end read other layers' keys and values
    unused_keys: bool = False  # those layers nevertheless have key and value tensors
    keys_as_values: bool = False  # layers without a window have no attn_v
    turned: int = 0  # turned pairs in layers without a window, by rope_freqs; 0: no such tensor
    cap: float | None = None  # final_logit_softcapping; None: not in the file
    scaled: bool = True  # layer_output_scale
    per_layer: int = 0  # embedding_length_per_layer_input


@dataclasses.dataclass(frozen=True)
class Conv:
    """Short convolutions, and the layers that have attention instead."""

    taps: int
    full: tuple[bool, ...]


@dataclasses.dataclass(frozen=True)
class Spec:
    name: str
    arch: str
    features: tuple[str, ...]
    embedding: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int
    tokens: int
    type: Type = Type.F32
    layers: int = 2
    key_length: int | None = None  # None: the file leaves it out, and it is embedding / heads
    value_length: int | None = None
    tied: bool = False
    biases: tuple[str, ...] = ()
    window: int = 0
    sinks: tuple[float, float] = ()  # the least and the most of attn_sinks; (): no such tensor
    period: int = 0  # of layers with a window, ended by one without; 0: not in the file
    query_scalar: int = 0  # query_pre_attn_scalar of a directory; 0: a head's length
    rope: dict[str, float | int | str] = dataclasses.field(default_factory=dict)
    llama3_factor: float = 0.0
    long_factor: float = 0.0  # the largest of rope_factors_long; 0: no such tensors
    temperature: float = 0.0  # attention.temperature_scale; 0: not in the file
    overrides: dict[str, Type] = dataclasses.field(default_factory=dict)
    lean: bool = False  # leaves out every key that has a default
    texts: tuple[int, ...] = ()  # the prompt's tokens are texts of these lengths; (): one
    causal: bool = True  # of a decoder
    context: int = 2048
    pooling: str = ""  # the file's pooling type; "": none
    types: int = 0  # rows of token_types; 0: no such tensor, 1: it has one dimension
    # Fields of a reranker: the names of its head's matrices, and labels of its last matrix's rows.
    # It may have neither.
    ranks: bool = False
    head: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    fused: tuple[str, ...] = ()  # attn_qkv, ffn_up: tensors fused of several
    gated: bool = False  # an FFN of jina-bert-v2 has a gate
    code: bool = False  # jina-bert-v2 for code: norms of queries and keys, and a second one
    alibi: float = 0.0  # attention.max_alibi_bias; 0: not in the file
    head_norms: bool = False  # norms of queries and keys, if the architecture makes them optional
    experts: Experts | None = None
    mla: Mla | None = None
    delta: Delta | None = None
    gemma4: Gemma4 | None = None
    conv: Conv | None = None
    scaled: bool = False  # matrices of NVFP4 have NAME.scale beside them, a factor for each
    # Every value is one of BF16, in vectors and routers too, so that a directory can hold the same
    # weights.
    twin: bool = False

    @property
    def encoder(self) -> bool:
        """Whether every position sees all others."""
        return self.arch in reference.ENCODERS or not self.causal

    @property
    def layer_norms(self) -> bool:
        return self.arch in reference.ENCODERS

    @property
    def normed_heads(self) -> bool:
        known = ("qwen3", "qwen3moe", *hybrid.ARCHITECTURES, *lfm.ARCHITECTURES)
        return self.arch in known or self.gemma or self.head_norms

    @property
    def gemma(self) -> bool:
        return self.arch == gemma.ARCHITECTURE

    @property
    def scales_embedding(self) -> bool:
        return self.gemma or self.gemma4 is not None

    @property
    def norms_rows(self) -> bool:
        """Whether a norm of queries or keys covers all heads of a row together."""
        return self.code or self.arch == "minimax-m2"

    @property
    def second_norm(self) -> str:
        later = (*reference.SECOND_NORM, *hybrid.ARCHITECTURES)
        return "post_attention_norm" if self.arch in later else "ffn_norm"

    @property
    def last_norm(self) -> str:
        """The last norm's tensor."""
        name = lfm.LAST_NORM if self.arch in lfm.ARCHITECTURES else "output_norm"
        return name + ".weight"

    @property
    def next_layers(self) -> int:
        return self.experts.nextn if self.experts else 0

    def has_attention(self, layer: int) -> bool:
        if self.conv:
            return self.conv.full[layer]
        if self.delta is None:
            return True
        return (self.delta.full or hybrid.full_layers(self.layers, self.delta.interval))[layer]

    def has_experts(self, layer: int) -> bool:
        return self.experts is not None and layer >= self.experts.dense

    @property
    def of_tests(self) -> bool:
        """Whether only tests know its architecture, and not the engine."""
        return self.arch.startswith("test-")

    @property
    def key(self) -> int:
        return self.key_length or self.embedding // self.heads

    @property
    def value(self) -> int:
        return self.value_length or self.embedding // self.heads


def tensor_type(spec: Spec, name: str, shape: tuple[int, ...]) -> Type:
    """The type a tensor is stored in. An override's key is the end of the tensor's name."""
    if len(shape) == 1 or name.endswith(".bias"):
        return Type.F32
    stem = name.removesuffix(".weight")
    if stem in ("position_embd", "token_types") and stem not in spec.overrides:
        return Type.F32
    if stem.endswith(("ssm_conv1d", "shortconv.conv")):
        return Type.F32
    if stem.endswith("ffn_gate_inp") and "ffn_gate_inp" not in spec.overrides:
        return Type.F32
    kind = next((t for end, t in spec.overrides.items() if stem.endswith(end)), spec.type)
    while shape[0] % block_length(kind):
        kind = Type[quants.row_of(kind).fallback]
    return kind


_QKV = ("attn_q", "attn_k", "attn_v")

# Positional numbers below: embedding, heads, kv_heads, ffn, vocab, tokens.


def _float_models() -> list[Spec]:
    return [
        Spec("llama-f32", "llama", ("gqa", "tied"), 96, 6, 3, 172, 301, 60, tied=True),
        Spec("llama-f32-mha", "llama", ("mha", "untied", "optional keys absent"), 160, 5, 5, 200,
             333, 90, layers=3, lean=True),
        Spec("llama-f32-head20", "llama", ("mqa", "head_dim 20", "untied"), 72, 7, 1, 140, 277, 70,
             key_length=20, value_length=20),
        Spec("llama-f16-bias", "llama", ("qkv and output bias", "head_dim 24"), 96, 4, 2, 172, 301,
             64, type=Type.F16, biases=(*_QKV, "attn_output")),
        Spec("llama-f32-linear", "llama", ("rope linear",), 96, 6, 3, 172, 301, 100, tied=True,
             rope={"scaling.type": "linear", "scaling.factor": 4.0}),
        Spec("llama-bf16-llama3", "llama", ("rope llama3", "head_dim 40", "untied"), 160, 4, 1, 200,
             317, 150, type=Type.BF16, rope={"freq_base": 500000.0}, llama3_factor=8.0),
        Spec("llama-f32-llama3", "llama", ("rope llama3", "head_dim 64", "tied"), 96, 3, 1, 172,
             301, 150, key_length=64, value_length=64, tied=True, rope={"freq_base": 500000.0},
             llama3_factor=32.0),
        Spec("llama-f32-yarn", "llama", ("rope yarn",), 96, 6, 3, 172, 301, 150,
             rope={"scaling.type": "yarn", "scaling.factor": 4.0,
                   "scaling.original_context_length": 64}),
        Spec("mistral-f32-window", "llama", ("sliding window 33",), 128, 8, 4, 200, 301, 120,
             window=33),
        Spec("llama-f32-partial", "llama", ("rope 12 of 20 dimensions",), 80, 4, 2, 172, 301, 80,
             rope={"dimension_count": 12}),
        Spec("qwen2-f32", "qwen2", ("qkv bias", "tied"), 96, 6, 3, 172, 301, 60, tied=True,
             biases=_QKV),
        Spec("qwen2-f16-partial", "qwen2", ("qkv bias", "rope 16 of 40 dimensions"), 160, 4, 2, 200,
             301, 90, type=Type.F16, biases=_QKV, rope={"dimension_count": 16}),
        Spec("qwen2-f16-yarn", "qwen2", ("qkv bias", "rope yarn, long original context"), 192, 3, 1,
             200, 309, 150, type=Type.F16, biases=_QKV,
             rope={"freq_base": 1000000.0, "scaling.type": "yarn", "scaling.factor": 8.0,
                   "scaling.original_context_length": 2048}),
        Spec("qwen3-f32", "qwen3", ("qk norm", "mqa", "head_dim 80"), 160, 7, 1, 200, 301, 80,
             key_length=80, value_length=80, rope={"freq_base": 1000000.0}),
        Spec("qwen3-bf16", "qwen3", ("qk norm", "tied", "head_dim 40"), 96, 5, 5, 172, 271, 100,
             type=Type.BF16, layers=3, key_length=40, value_length=40, tied=True),
        Spec("qwen3-f32-yarn", "qwen3", ("qk norm", "rope yarn with attn_factor"), 96, 6, 2, 172,
             301, 150, key_length=24, value_length=24, tied=True,
             rope={"scaling.type": "yarn", "scaling.factor": 4.0, "scaling.attn_factor": 0.8,
                   "scaling.original_context_length": 128}),
        Spec("llama-f16-gqa4", "llama", ("4 query heads a KV head", "qkv bias",
                                         "sliding window 33"), 128, 8, 2, 172, 301, 90,
             type=Type.F16, biases=_QKV, window=33),
        Spec("llama-f32-long", "llama", ("600 tokens",), 64, 4, 2, 100, 263, 600, tied=True),
        Spec("qwen3-f16-long-window", "qwen3", ("600 tokens", "sliding window 100", "qk norm"), 64,
             3, 1, 100, 263, 600, type=Type.F16, key_length=24, value_length=24, window=100),
    ]


def _descendants() -> list[Spec]:
    """Models of architectures that differ from Llama's or Qwen2's in a thing or two."""
    long = {"scaling.type": "longrope", "scaling.attn_factor": 1.19}
    fused = ("attn_qkv", "ffn_up")
    yarn = {"scaling.type": "yarn", "scaling.factor": 16.0, "freq_base": 1000000.0}
    return [
        Spec("seed_oss-f32", "seed_oss", ("qkv bias", "heads wider than the width"), 84, 6, 3, 172,
             301, 60, key_length=24, value_length=24, biases=_QKV),
        Spec("seed_oss-q8_0", "seed_oss", ("no bias", "tied"), 96, 6, 2, 224, 301, 60,
             type=Type.Q8_0, key_length=32, value_length=32, tied=True),
        Spec("phi3-f32", "phi3", ("fused QKV", "gate above up"), 84, 7, 7, 140, 301, 60,
             fused=fused),
        Spec("phi3-f32-short", "phi3", ("longrope, context not beyond it", "rope 12 of 20"), 80, 4,
             2, 172, 301, 80, fused=fused, long_factor=40.0, tied=True,
             rope={**long, "dimension_count": 12, "scaling.original_context_length": 1024}),
        Spec("phi3-q8_0-long", "phi3", ("longrope, context beyond it", "rope 24 of 32"), 96, 6, 2,
             224, 301, 150, type=Type.Q8_0, key_length=32, value_length=32, fused=fused,
             long_factor=40.0,
             rope={**long, "dimension_count": 24, "scaling.original_context_length": 128}),
        Spec("mistral3-f32", "mistral3", ("rope yarn", "queries grow from 40 positions on"), 96, 6,
             3, 172, 301, 150, tied=True, temperature=0.1,
             rope={**yarn, "scaling.original_context_length": 40,
                   "scaling.yarn_log_multiplier": 0.5}),
        Spec("mistral3-q8_0", "mistral3", ("head_dim 32", "no yarn"), 160, 4, 1, 224, 301, 90,
             type=Type.Q8_0, key_length=32, value_length=32, temperature=0.5,
             rope={"freq_base": 1000000.0, "scaling.original_context_length": 7}),
    ]


def _block_models() -> list[Spec]:
    return [
        Spec("llama-q4_0", "llama", ("ffn_down stays f16", "tied"), 160, 5, 5, 172, 301, 70,
             type=Type.Q4_0, tied=True),
        Spec("qwen3-q4_0", "qwen3", ("qk norm", "untied"), 96, 6, 3, 352, 333, 90, type=Type.Q4_0,
             key_length=32, value_length=32),
        Spec("qwen2-q4_1", "qwen2", ("qkv bias", "tied"), 96, 6, 3, 224, 301, 60, type=Type.Q4_1,
             tied=True, biases=_QKV),
        Spec("llama-q5_0", "llama", ("mqa",), 160, 7, 1, 416, 301, 50, type=Type.Q5_0,
             key_length=32, value_length=32),
        Spec("qwen3-q5_1", "qwen3", ("qk norm", "head_dim 80", "tied"), 96, 6, 2, 224, 301, 64,
             type=Type.Q5_1, key_length=80, value_length=80, tied=True),
        Spec("llama-q8_0", "llama", ("untied", "rope llama3"), 160, 5, 1, 352, 317, 120,
             type=Type.Q8_0, rope={"freq_base": 500000.0}, llama3_factor=8.0),
        Spec("qwen3-q8_0", "qwen3", ("qk norm", "ffn_down stays f16"), 96, 5, 5, 172, 301, 80,
             type=Type.Q8_0, key_length=32, value_length=32, tied=True),
        Spec("qwen3-q8_0-gqa6", "qwen3", ("6 query heads a KV head", "qk norm", "head_dim 48"), 160,
             12, 2, 224, 301, 80, type=Type.Q8_0, key_length=48, value_length=48),
        Spec("llama-iq4_nl", "llama", ("gqa",), 192, 6, 3, 224, 301, 60, type=Type.IQ4_NL),
        Spec("qwen3-mxfp4", "qwen3", ("qk norm",), 96, 6, 3, 224, 301, 60, type=Type.MXFP4,
             key_length=32, value_length=32, tied=True),
        Spec("llama-q2_k", "llama", ("gqa",), 256, 8, 4, 512, 301, 50, type=Type.Q2_K),
        Spec("qwen3-q3_k", "qwen3", ("qk norm", "attn_output falls back to IQ4_NL"), 256, 6, 3, 768,
             301, 60, type=Type.Q3_K, key_length=64, value_length=64),
        Spec("llama-q4_k", "llama", ("mqa", "attn_output falls back to Q5_0"), 256, 7, 1, 512, 301,
             70, type=Type.Q4_K, key_length=32, value_length=32),
        Spec("qwen2-q5_k", "qwen2", ("qkv bias", "ffn_down falls back to Q5_1"), 256, 4, 2, 416,
             301, 60, type=Type.Q5_K, biases=_QKV, tied=True),
        Spec("llama-q6_k", "llama", ("attn_output falls back to Q8_0",), 256, 5, 5, 512, 301, 60,
             type=Type.Q6_K, key_length=64, value_length=64),
        Spec("qwen3-q4_k_m", "qwen3", ("qk norm", "Q4_K with Q6_K", "tied"), 256, 6, 2, 768, 333,
             100, type=Type.Q4_K, key_length=128, value_length=128, tied=True,
             overrides={"blk.0.attn_v": Type.Q6_K, "blk.0.ffn_down": Type.Q6_K,
                        "token_embd": Type.Q6_K}),
        Spec("llama-mixed", "llama", ("a type of its own for every tensor",), 256, 8, 4, 512, 301,
             60, type=Type.Q5_K,
             overrides={"blk.0.attn_q": Type.Q2_K, "blk.0.attn_k": Type.Q4_0,
                        "blk.0.attn_v": Type.Q8_0, "blk.0.attn_output": Type.F16,
                        "blk.0.ffn_gate": Type.Q4_K, "blk.0.ffn_up": Type.Q3_K,
                        "blk.0.ffn_down": Type.Q6_K, "blk.1.attn_q": Type.Q4_1,
                        "blk.1.attn_k": Type.BF16, "blk.1.attn_v": Type.Q5_0,
                        "blk.1.attn_output": Type.Q5_1, "blk.1.ffn_gate": Type.IQ4_NL,
                        "blk.1.ffn_up": Type.MXFP4, "blk.1.ffn_down": Type.F32,
                        "token_embd": Type.Q8_0, "output": Type.Q6_K}),
        Spec("qwen3-ud-q2_k_xl", "qwen3", ("qk norm", "i-quants beside K-quants"), 256, 4, 2, 512,
             301, 40, type=Type.Q2_K, key_length=64, value_length=64,
             overrides={"blk.0.attn_q": Type.IQ2_XXS, "blk.0.attn_k": Type.IQ3_XXS,
                        "blk.0.attn_v": Type.IQ4_XS, "blk.0.attn_output": Type.IQ3_S,
                        "blk.0.ffn_gate": Type.IQ1_M, "blk.0.ffn_up": Type.IQ2_XS,
                        "blk.0.ffn_down": Type.Q3_K, "blk.1.attn_q": Type.IQ2_S,
                        "blk.1.attn_k": Type.Q8_0, "blk.1.attn_v": Type.Q5_K,
                        "blk.1.attn_output": Type.IQ4_NL, "blk.1.ffn_gate": Type.IQ1_S,
                        "blk.1.ffn_down": Type.IQ4_XS, "token_embd": Type.Q4_K,
                        "output": Type.Q6_K}),
    ]


# Text lengths around a page and around several threads' rows. One step takes all of them.
_TEXTS = (33, 1, 200, 64, 65, 5, 13)


_BERT_BIASES = (*_QKV, "attn_qkv", "attn_output", "ffn_up", "ffn_down")


def _bert_models() -> list[Spec]:
    def bert(name: str, features: tuple[str, ...], *sizes: int, **more) -> Spec:
        return Spec(name, "bert", features, *sizes, sum(_TEXTS), texts=_TEXTS,
                    **{"context": 219, "types": 2, "pooling": "cls", **more})

    return [
        bert("bert-f32", ("3 heads", "biases"), 84, 3, 3, 172, 301, biases=_BERT_BIASES),
        bert("bert-f32-fused", ("one head", "fused QKV with bias", "one type"), 52, 1, 1, 100, 301,
             layers=3, types=1, fused=("attn_qkv",), biases=_BERT_BIASES, context=512),
        bert("bert-f32-plain", ("12 heads of 7", "fused QKV", "no biases", "no types"), 84, 12, 12,
             150, 301, types=0, fused=("attn_qkv",), lean=True, pooling=""),
        bert("bert-f16", ("12 heads", "F16 positions"), 96, 12, 12, 200, 301, type=Type.F16,
             biases=_BERT_BIASES, overrides={"position_embd": Type.F16}, pooling="mean"),
        bert("bert-bf16", ("5 heads", "fused QKV"), 120, 5, 5, 172, 301, type=Type.BF16,
             fused=("attn_qkv",), biases=_BERT_BIASES),
        bert("bert-q8_0", ("12 heads", "biases"), 96, 12, 12, 224, 301, type=Type.Q8_0,
             biases=_BERT_BIASES),
        bert("bert-q4_k", ("4 heads", "fused QKV"), 256, 4, 4, 512, 301, type=Type.Q4_K,
             fused=("attn_qkv",), biases=_BERT_BIASES, overrides={"ffn_down": Type.Q6_K}),
    ]


def _nomic_models() -> list[Spec]:
    def nomic(name: str, features: tuple[str, ...], *sizes: int, **more) -> Spec:
        return Spec(name, "nomic-bert", features, *sizes, sum(_TEXTS), texts=_TEXTS,
                    **{"rope": {"freq_base": 1000.0}, "fused": ("attn_qkv",), "types": 2,
                       "pooling": "mean", **more})

    return [
        nomic("nomic-f32", ("3 heads", "fused QKV"), 84, 3, 3, 172, 301),
        nomic("nomic-f32-apart", ("one head", "biases", "rope 12 of 52 dimensions"), 52, 1, 1, 100,
              301, fused=(), biases=(*_QKV, "attn_output", "ffn_gate", "ffn_up", "ffn_down"),
              rope={"freq_base": 1000.0, "dimension_count": 12}, types=1),
        nomic("nomic-f16", ("12 heads of 8",), 96, 12, 12, 200, 301, type=Type.F16),
        nomic("nomic-bf16", ("3 heads of 40",), 120, 3, 3, 172, 301, type=Type.BF16),
        nomic("nomic-q8_0", ("3 heads",), 96, 3, 3, 224, 301, type=Type.Q8_0),
        nomic("nomic-q5_k", ("4 heads",), 256, 4, 4, 512, 301, type=Type.Q5_K, types=1),
    ]


def _jina_models() -> list[Spec]:
    biases = (*_QKV, "attn_output", "ffn_down")

    def jina(name: str, features: tuple[str, ...], *sizes: int, **more) -> Spec:
        return Spec(name, "jina-bert-v2", features, *sizes, sum(_TEXTS), texts=_TEXTS,
                    **{"biases": biases, "gated": True, "types": 2, "pooling": "mean", **more})

    return [
        jina("jina-f32", ("12 heads of 7",), 84, 12, 12, 172, 301),
        jina("jina-f32-fused", ("3 heads", "gate and up in one", "fused QKV", "ALiBi of 6"), 84, 3,
             3, 150, 301, fused=("attn_qkv", "ffn_up"), types=1, alibi=6.0),
        jina("jina-f32-plain", ("one head", "no gate"), 52, 1, 1, 100, 301, gated=False,
             biases=(*biases, "ffn_up")),
        jina("jina-f32-code", ("3 heads", "norms of queries and keys", "a second norm"), 84, 3, 3,
             172, 301, fused=("ffn_up",), code=True),
        jina("jina-f16", ("3 heads",), 96, 3, 3, 200, 301, type=Type.F16),
        jina("jina-bf16-code", ("12 heads of 10", "norms of queries and keys"), 120, 12, 12, 172,
             301, type=Type.BF16, code=True),
        jina("jina-q8_0", ("12 heads", "gate and up in one"), 96, 12, 12, 224, 301, type=Type.Q8_0,
             fused=("ffn_up",)),
        jina("jina-q6_k", ("4 heads",), 256, 4, 4, 512, 301, type=Type.Q6_K),
    ]


def _embedders() -> list[Spec]:
    """Decoders in which every position sees all others."""
    return [
        Spec("qwen2-f32-both-ways", "qwen2", ("not causal", "qkv bias"), 96, 6, 3, 172, 301,
             sum(_TEXTS), texts=_TEXTS, biases=_QKV, causal=False, pooling="last"),
        Spec("qwen3-q8_0-both-ways", "qwen3", ("not causal", "qk norm"), 96, 5, 5, 224, 301,
             sum(_TEXTS), texts=_TEXTS, type=Type.Q8_0, key_length=32, value_length=32, tied=True,
             causal=False, pooling="mean"),
    ]


def _test_models() -> list[Spec]:
    """Models of architectures that a test defines (tests/models/architecture_test.cc)."""
    return [
        Spec("test-encoder-f32", "test-encoder", ("mha", "biases", "no rope"), 84, 7, 7, 172, 301,
             sum(_TEXTS), texts=_TEXTS, biases=(*_QKV, "attn_output", "ffn_down")),
        Spec("test-encoder-bf16", "test-encoder", ("rope", "biases"), 120, 5, 5, 172, 301,
             sum(_TEXTS), texts=_TEXTS, type=Type.BF16, biases=(*_QKV, "attn_output"),
             rope={"dimension_count": 24}),
        Spec("test-encoder-q8_0", "test-encoder", ("gqa", "rope 12 of 24 dimensions", "lengths of "
                                                   "keys and values differ"), 96, 6, 3, 224, 301,
             sum(_TEXTS), texts=_TEXTS, type=Type.Q8_0, key_length=24, value_length=16,
             rope={"dimension_count": 12}),
        Spec("test-decoder-f32", "test-decoder", ("keys of 24, values of 16", "gqa"), 84, 6, 3, 172,
             301, 150, key_length=24, value_length=16),
        Spec("test-decoder-q8_0", "test-decoder", ("keys of 20, values of 32", "mqa", "tied"), 96,
             5, 1, 224, 301, 150, type=Type.Q8_0, key_length=20, value_length=32, tied=True),
    ]


def _models_of_other_types(named: list[Spec]) -> list[Spec]:
    """A model for every type that none of the other models is stored in."""
    return [
        Spec(f"llama-{kind.name.lower()}", "llama", ("one layer", "tied"), 256, 8, 2, 256, 301, 30,
             type=kind, layers=1, tied=True)
        for kind in Type if kind not in {spec.type for spec in named}
    ]  # fmt: skip


def rerankers() -> list[Spec]:
    def pairs(name: str, arch: str, features: tuple[str, ...], *sizes: int, **more) -> Spec:
        return Spec(name, arch, features, *sizes, sum(_TEXTS), texts=_TEXTS, ranks=True,
                    pooling="rank", **more)

    both = ("cls", "cls.output")
    return [
        pairs("bert-f32-rank", "bert", ("two types of tokens", "two matrices with biases"), 84, 3,
              3, 172, 301, biases=(*_BERT_BIASES, *both), context=219, types=2, head=both),
        pairs("bert-q8_0-rank", "bert", ("one type", "two matrices"), 96, 12, 12, 224, 301,
              type=Type.Q8_0, context=219, types=1, head=both),
        pairs("jina-f16-rank", "jina-bert-v2", ("one row alone",), 96, 3, 3, 200, 301,
              type=Type.F16, biases=("cls",), types=2, gated=True, head=("cls",)),
        pairs("qwen3-bf16-rank", "qwen3", ("rows of no and yes",), 96, 6, 3, 172, 301,
              type=Type.BF16, tied=True, head=("cls.output",), labels=("no", "yes")),
        pairs("llama-f32-words", "llama", ("logits of yes and no",), 96, 6, 3, 172, 301),
    ]


def specs() -> list[Spec]:
    encoders = _bert_models() + _nomic_models() + _jina_models() + _embedders()
    decoders = _float_models() + _descendants() + _block_models()
    decoders += _models_of_other_types(decoders)
    return decoders + encoders + _test_models()
