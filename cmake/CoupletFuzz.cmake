# tests/fuzz/NAME.cpp -> fuzz/NAME, a libFuzzer program over the whole library with coverage and AddressSanitizer.
# Built in a tree of its own (preset fuzz): tools/fuzz runs them with the corpus in tests/fuzz/corpus/NAME/.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "the fuzz targets need Clang (package clang-15 or later)")
endif()
target_compile_options(couplet_flags INTERFACE -fsanitize=fuzzer-no-link)
file(GLOB fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*.cpp")
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(fuzz_${name} "${source}")
  set_target_properties(fuzz_${name} PROPERTIES
    OUTPUT_NAME "${name}" RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
  target_link_libraries(fuzz_${name} PRIVATE couplet_core)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endforeach()
