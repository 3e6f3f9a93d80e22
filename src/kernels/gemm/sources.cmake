# Appended to the lists of src/kernels/CMakeLists.txt.
list(APPEND sources gemm/gemm.cc gemm/gemm_problem.cc gemm/gemm_reference.cc)
list(APPEND avx512_sources gemm/gemm_avx512_float.cc gemm/gemm_avx512_fp8.cc
     gemm/gemm_avx512_int8.cc)
list(APPEND amx_sources gemm/gemm_amx_bf16.cc gemm/gemm_amx_int8.cc)
list(APPEND tests gemm/gemm_fp8_test.cc gemm/gemm_test.cc)
list(APPEND avx2_sources gemm/gemm_avx2.cc)
list(APPEND neon_sources gemm/gemm_neon.cc)
