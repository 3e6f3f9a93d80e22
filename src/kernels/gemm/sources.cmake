# Appended to the lists of src/kernels/CMakeLists.txt.
list(APPEND sources gemm/gemm.cc gemm/gemm_problem.cc gemm/gemm_reference.cc
     gemm/schedule.cc gemm/schedule_text.cc)
list(APPEND avxvnni_sources gemm/gemm_avxvnni.cc)
list(APPEND avx512bw_sources gemm/gemm_avx512bw.cc gemm/gemm_avx512bw_float.cc)
list(APPEND avx512_sources gemm/gemm_avx512_int8.cc)
list(APPEND avx512bf16_sources gemm/gemm_avx512bf16.cc gemm/gemm_avx512bf16_fp8.cc)
list(APPEND amx_sources gemm/gemm_amx_bf16.cc gemm/gemm_amx_int8.cc)
list(APPEND tests gemm/gemm_default_test.cc gemm/gemm_fp8_test.cc gemm/gemm_schedule_test.cc
     gemm/gemm_test.cc)
list(APPEND avx2_sources gemm/gemm_avx2.cc)
list(APPEND neon_sources gemm/gemm_neon.cc)
list(APPEND i8mm_sources gemm/gemm_i8mm.cc)
list(APPEND i8mmbf16_sources gemm/gemm_i8mmbf16.cc)
