# The element-wise kernels, appended to the lists of CMakeLists.txt: a reference for each family,
# and one source a level with all of them.
foreach(kernel norm/norm rope/rope activation/activation maximum/maximum
        sum/sum)
  list(APPEND sources ${kernel}_reference.cc)
  list(APPEND tests ${kernel}_test.cc)
endforeach()
list(APPEND sources rope/rope.cc routing/routing.cc)
list(APPEND avx2_sources elementwise_avx2.cc)
list(APPEND avx512bw_sources elementwise_avx512bw.cc)
list(APPEND neon_sources elementwise_neon.cc)
list(APPEND tests simd/exp_test.cc routing/routing_test.cc)
list(APPEND sources recurrent/recurrent_reference.cc)
list(APPEND tests recurrent/delta_rule_test.cc recurrent/short_conv_test.cc
     recurrent/gates_test.cc)
hearth_bench(recurrent_bench SOURCES recurrent/recurrent_bench.cc DEPS hearth_kernels)
