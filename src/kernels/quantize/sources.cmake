# Appended to the lists of src/kernels/CMakeLists.txt.
list(APPEND sources quantize/quantize.cc quantize/quantize_reference.cc)
list(APPEND avx2_sources quantize/quantize_avx2.cc)
list(APPEND avx512bw_sources quantize/quantize_avx512bw.cc)
list(APPEND neon_sources quantize/quantize_neon.cc)
list(APPEND tests quantize/quantize_test.cc)
