# libcouplet.so and libcouplet.a from the same objects; the helper programs from src/*/main_*.cpp.
file(GLOB sources CONFIGURE_DEPENDS
     "${PROJECT_SOURCE_DIR}/src/*/*.cpp" "${PROJECT_SOURCE_DIR}/src/*/*/*.cpp")
file(GLOB main_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*/main_*.cpp")
list(FILTER sources EXCLUDE REGEX "/mpi/")
if(main_sources)
  list(REMOVE_ITEM sources ${main_sources})
endif()
if(NOT UCX_FOUND)
  list(FILTER sources EXCLUDE REGEX "/src/link/ucx/")
  list(APPEND sources "${PROJECT_SOURCE_DIR}/src/link/ucx/absent/absent_ucx.cpp")
endif()
if(NOT sources)  # a tree without sources can still be configured
  file(WRITE "${PROJECT_BINARY_DIR}/empty.cpp" "")
  set(sources "${PROJECT_BINARY_DIR}/empty.cpp")
endif()

# Makes libcouplet.so.0 and so on. A wheel cannot have the symbolic links, and has plain names.
function(couplet_set_version target)
  if(NOT DEFINED SKBUILD)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  endif()
endfunction()

set(COUPLET_VERSION_SCRIPT "${PROJECT_SOURCE_DIR}/cmake/couplet.map")

# Only C symbols named couplet_* are exported by our shared libraries.
function(couplet_export_only_c_symbols target)
  target_link_options(${target} PRIVATE "LINKER:--version-script=${COUPLET_VERSION_SCRIPT}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${COUPLET_VERSION_SCRIPT}")
endfunction()

add_library(couplet_internal INTERFACE)  # the needs of code inside the library
target_include_directories(couplet_internal INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
target_link_libraries(couplet_internal INTERFACE
  couplet_flags fmt::fmt nlohmann_json::nlohmann_json PkgConfig::SODIUM PkgConfig::CRYPTO PkgConfig::XXHASH
  Threads::Threads ${CMAKE_DL_LIBS})

add_library(couplet_objects OBJECT ${sources})
target_link_libraries(couplet_objects PUBLIC couplet_internal)
target_include_directories(couplet_objects SYSTEM PRIVATE ${UCX_INCLUDE_DIRS})
target_compile_definitions(couplet_objects PRIVATE
  COUPLET_VERSION_STRING="${PROJECT_VERSION}"
  COUPLET_LIBEXEC_FROM_LIB="${COUPLET_LIBEXEC_FROM_LIB}")

# Trees that are compiled from scratch and seldom again take a quarter of the time if several sources are compiled as
# one. A name in an unnamed namespace therefore has to be the only one of its namespace, also across sources.
if(COUPLET_UNITY)
  set_target_properties(couplet_objects PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
  # To GCC, what is local to a source seems to come from a header.
  target_compile_options(couplet_objects PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>")
endif()

# libcouplet.a: for unit tests of internals, and for the helper programs.
add_library(couplet_core STATIC $<TARGET_OBJECTS:couplet_objects>)
set_target_properties(couplet_core PROPERTIES OUTPUT_NAME couplet)
target_link_libraries(couplet_core PUBLIC couplet_internal)

add_library(couplet SHARED $<TARGET_OBJECTS:couplet_objects>)
add_library(couplet::couplet ALIAS couplet)
couplet_set_version(couplet)
target_include_directories(couplet INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(couplet PRIVATE couplet_internal)
couplet_export_only_c_symbols(couplet)

# src/runtime/main_hub.cpp -> libexec/couplet/couplet-hub
set(COUPLET_PROGRAMS "")
foreach(main_source IN LISTS main_sources)
  get_filename_component(name "${main_source}" NAME_WE)
  string(REGEX REPLACE "^main_" "couplet-" name "${name}")
  string(REPLACE "_" "-" name "${name}")
  add_executable(${name} "${main_source}")
  target_link_libraries(${name} PRIVATE couplet_core)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${COUPLET_LIBEXEC_BUILD_DIR}")
  list(APPEND COUPLET_PROGRAMS ${name})
endforeach()
