# Appended to the lists of src/kernels/CMakeLists.txt.
list(APPEND sources limits/limits.cc limits/limits_reference.cc)
list(APPEND avx2_sources limits/limits_avx2.cc)
list(APPEND avx512_sources limits/limits_avx512.cc)
list(APPEND amx_sources limits/limits_amx.cc)
list(APPEND neon_sources limits/limits_neon.cc)
list(APPEND tests limits/limits_test.cc)
