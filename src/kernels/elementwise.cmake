# The families of element-wise kernels, appended to the lists of CMakeLists.txt.
foreach(kernel norm/norm rope/rope activation/activation)
  list(APPEND sources ${kernel}_reference.cc)
  list(APPEND avx2_sources ${kernel}_avx2.cc)
  list(APPEND avx512_sources ${kernel}_avx512.cc)
  list(APPEND neon_sources ${kernel}_neon.cc)
  list(APPEND tests ${kernel}_test.cc)
  # The contract says which products are rounded; a compiler must not fuse them.
  set_source_files_properties(${kernel}_reference.cc PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
endforeach()
list(APPEND sources rope/rope.cc)
list(APPEND tests simd/exp_test.cc)
