# Appended to the lists of src/kernels/CMakeLists.txt.
list(APPEND sources attention/attention.cc attention/attention_reference.cc)
list(APPEND avx2_sources attention/attention_avx2.cc)
list(APPEND avxvnni_sources attention/attention_avxvnni.cc)
list(APPEND avx512bw_sources attention/attention_avx512bw.cc)
list(APPEND avx512_sources attention/attention_avx512.cc)
list(APPEND neon_sources attention/attention_neon.cc)
list(APPEND tests attention/test_attention_problem.cc attention/test_attention_truth.cc
     attention/attention_test.cc attention/alibi_test.cc attention/sink_test.cc
     attention/kv_store_test.cc attention/latent_test.cc attention/latent_expanded_test.cc)
hearth_bench(attention_bench
             SOURCES attention/attention_bench.cc attention/test_attention_problem.cc
             DEPS hearth_kernels)
hearth_bench(latent_bench
             SOURCES attention/latent_bench.cc attention/test_attention_problem.cc
             DEPS hearth_kernels)
