# bench/NAME.cpp -> bench/NAME, linked with libcouplet. What needs more (an MPI, ZeroMQ) is in bench/CMakeLists.txt.
file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.cpp")
foreach(source IN LISTS bench_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(bench_${name} "${source}")
  set_target_properties(bench_${name} PROPERTIES
    OUTPUT_NAME "${name}" RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  target_link_libraries(bench_${name} PRIVATE couplet_flags couplet)
endforeach()
couplet_add_folder(bench ON)
