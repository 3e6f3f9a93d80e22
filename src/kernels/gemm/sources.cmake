# Appended to the lists of src/kernels/CMakeLists.txt.
list(APPEND sources gemm/gemm.cc gemm/gemm_reference.cc)
list(APPEND avx512_sources gemm/gemm_avx512_float.cc gemm/gemm_avx512_int8.cc)
list(APPEND tests gemm/gemm_problem.cc gemm/gemm_test.cc)
list(APPEND avx2_sources gemm/gemm_avx2.cc)
list(APPEND neon_sources gemm/gemm_neon.cc)

# The benchmark measures against loops written for x86.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_executable(gemm_bench EXCLUDE_FROM_ALL gemm/gemm_bench.cc gemm/gemm_limits_avx512.cc
                            gemm/gemm_problem.cc)
  set_source_files_properties(gemm/gemm_limits_avx512.cc PROPERTIES COMPILE_OPTIONS
                              "-mavx512f;-mavx512bw;-mavx512vnni;-mavx512bf16")
  target_link_libraries(gemm_bench PRIVATE hearth_kernels)
endif()
