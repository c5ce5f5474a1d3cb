# tests/unit/X/ -> test_X; tests/conformance/, tests/sim/, tests/stress/ -> test_conformance, ... (each with one
# level of subfolders). A folder of tests/ that needs more has a CMake file of its own.
# tests/support/*.cpp is linked into each. tests/universe/programs/* become programs that the multi-process tests start.
file(GLOB support_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.cpp")
add_library(couplet_test_support INTERFACE)
target_include_directories(couplet_test_support INTERFACE "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(couplet_test_support INTERFACE couplet_core GTest::gmock GTest::gtest)
if(support_sources)
  add_library(couplet_test_support_objects STATIC ${support_sources})
  target_link_libraries(couplet_test_support_objects PUBLIC couplet_test_support)
endif()

# These tests read files of this tree. Every other one is compiled without its path, so that ccache knows it in another
# tree.
set_source_files_properties(
  "${PROJECT_SOURCE_DIR}/tests/unit/counters/counters_test.cpp"
  "${PROJECT_SOURCE_DIR}/tests/support/fuzz_seeds.cpp"
  PROPERTIES COMPILE_DEFINITIONS "COUPLET_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")

# With COUPLET_UNITY, the sources of a test are compiled together, and with little optimisation: this takes a quarter of
# the time. These use a name that another source of their folder uses for something else.
file(STRINGS "${PROJECT_SOURCE_DIR}/tests/alone.txt" alone_sources)
foreach(source IN LISTS alone_sources)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endforeach()

set(test_timeout_s 300)
if(COUPLET_SANITIZE)
  set(test_timeout_s 900)
endif()

# One ctest entry for each binary: starting a process for each test case would cost more than the tests. The binary that
# takes longest has several, so that ctest can run them beside each other.
set(test_conformance_shards 4)
function(couplet_add_gtest name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE couplet_test_support GTest::gmock_main)
  if(TARGET couplet_test_support_objects)
    target_link_libraries(${name} PRIVATE couplet_test_support_objects)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  if(COUPLET_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    target_compile_options(${name} PRIVATE -O1)
  endif()
  if(${name}_shards)
    math(EXPR last "${${name}_shards} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${name}.${shard} COMMAND ${name} --gtest_brief=1)
      set_tests_properties(${name}.${shard} PROPERTIES
        TIMEOUT ${test_timeout_s} ENVIRONMENT "GTEST_TOTAL_SHARDS=${${name}_shards};GTEST_SHARD_INDEX=${shard}")
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${test_timeout_s})
  endif()
  if(COUPLET_PROGRAMS)
    add_dependencies(${name} ${COUPLET_PROGRAMS})
  endif()
endfunction()

file(GLOB unit_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true "${PROJECT_SOURCE_DIR}/tests/unit/*")
set(other_folders conformance sim stress)
list(TRANSFORM other_folders PREPEND "${PROJECT_SOURCE_DIR}/tests/")
foreach(folder IN LISTS unit_folders other_folders)
  file(GLOB test_sources CONFIGURE_DEPENDS "${folder}/*.cpp" "${folder}/*/*.cpp")
  if(test_sources)
    get_filename_component(name "${folder}" NAME)
    couplet_add_gtest(test_${name} ${test_sources})
  endif()
endforeach()

# tests/fuzz/NAME.cpp -> replay_NAME, if AddressSanitizer is used: the corpus, and three seconds of changed copies of
# it.
if(COUPLET_SANITIZE MATCHES "address")
  file(GLOB fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*.cpp")
  foreach(source IN LISTS fuzz_sources)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(replay_${name} "${source}" "${PROJECT_SOURCE_DIR}/tests/fuzz/replay/replay.cpp")
    target_link_libraries(replay_${name} PRIVATE couplet_core)
    set_target_properties(replay_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    add_test(NAME replay_${name} COMMAND replay_${name} 3 "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}")
    set_tests_properties(replay_${name} PROPERTIES TIMEOUT 60)
    list(APPEND replays replay_${name})
  endforeach()
  add_custom_target(replays DEPENDS ${replays})
endif()

# Programs of the multi-process tests: programs/NAME.{c,cpp,f90} -> tests/programs/NAME, without MPI;
# programs/mpi/NAME.* -> tests/programs/NAME.openmpi and NAME.mpich.
function(couplet_add_test_program name source)
  string(REPLACE "." "_" target "program_${name}")
  add_executable(${target} "${source}")
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME "${name}" RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/programs"
    Fortran_MODULE_DIRECTORY "${PROJECT_BINARY_DIR}/modules/${target}")
  target_link_libraries(${target} PRIVATE couplet_flags couplet ${ARGN})
endfunction()

set(extensions "")
foreach(extension c cpp f90)
  if(NOT extension STREQUAL "f90" OR CMAKE_Fortran_COMPILER)
    list(APPEND extensions "${PROJECT_SOURCE_DIR}/tests/universe/programs/*.${extension}")
    list(APPEND mpi_extensions "${PROJECT_SOURCE_DIR}/tests/universe/programs/mpi/*.${extension}")
  endif()
endforeach()
file(GLOB programs CONFIGURE_DEPENDS ${extensions})
file(GLOB mpi_programs CONFIGURE_DEPENDS ${mpi_extensions})
foreach(source IN LISTS programs)
  get_filename_component(name "${source}" NAME_WE)
  get_filename_component(extension "${source}" LAST_EXT)
  if(extension STREQUAL ".f90")
    couplet_add_test_program(${name} "${source}" couplet::fortran)
  else()
    couplet_add_test_program(${name} "${source}")
  endif()
endforeach()
foreach(source IN LISTS mpi_programs)
  get_filename_component(name "${source}" NAME_WE)
  get_filename_component(extension "${source}" LAST_EXT)
  foreach(flavour IN LISTS COUPLET_MPI_FLAVOURS)
    if(NOT TARGET couplet_mpi_${flavour})
      continue()
    elseif(extension STREQUAL ".f90")
      couplet_add_test_program(${name}.${flavour} "${source}" couplet::fortran_mpi_${flavour} mpi::${flavour}_fortran)
    else()
      couplet_add_test_program(${name}.${flavour} "${source}" couplet_mpi_${flavour} mpi::${flavour})
    endif()
  endforeach()
endforeach()

file(GLOB own_folders CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests/*/CMakeLists.txt")
foreach(file IN LISTS own_folders)
  get_filename_component(folder "${file}" DIRECTORY)
  add_subdirectory("${folder}")
endforeach()

# Programs that use the library's internals, linked statically: programs/core/NAME.cpp -> tests/programs/NAME.
file(GLOB core_programs CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/universe/programs/core/*.cpp")
foreach(source IN LISTS core_programs)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(program_${name} "${source}")
  set_target_properties(program_${name} PROPERTIES
    OUTPUT_NAME "${name}" RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/programs")
  target_link_libraries(program_${name} PRIVATE couplet_core)
endforeach()
