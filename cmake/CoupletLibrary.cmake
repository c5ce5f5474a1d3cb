# The layers of the library, each a target couplet_layer_FOLDER of src/FOLDER/ that links those which layers.toml lets
# it include; libcouplet.so and libcouplet.a from all their objects; the helper programs from src/*/main_*.cpp.
file(GLOB main_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*/main_*.cpp")

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

set(COUPLET_LAYERS_FILE "${PROJECT_SOURCE_DIR}/src/layers.toml")
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${COUPLET_LAYERS_FILE}")
file(READ "${COUPLET_LAYERS_FILE}" layers_text)

# Sets `result` to the layers that layers.toml names for `folder`.
function(couplet_layers_below folder result)
  set(below "")
  if(layers_text MATCHES "\n${folder} = \\[([^]]*)\\]")
    string(REGEX MATCHALL "[a-z]+" below "${CMAKE_MATCH_1}")
  endif()
  set(${result} "${below}" PARENT_SCOPE)
endfunction()

# Makes couplet_layer_FOLDER, if the folder has sources.
function(couplet_add_layer folder)
  file(GLOB sources CONFIGURE_DEPENDS
       "${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp" "${PROJECT_SOURCE_DIR}/src/${folder}/*/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/mpi/|/main_[^/]*$")
  if(folder STREQUAL "link" AND NOT UCX_FOUND)
    list(FILTER sources EXCLUDE REGEX "/src/link/ucx/")
    list(APPEND sources "${PROJECT_SOURCE_DIR}/src/link/ucx/absent/absent_ucx.cpp")
  endif()
  if(NOT sources)
    return()
  endif()
  set(target couplet_layer_${folder})
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(${target} PUBLIC couplet_internal)
  # Trees that are compiled from scratch and seldom again take a quarter of the time if several sources are compiled as
  # one. A name in an unnamed namespace therefore has to be the only one of its namespace, also across sources.
  if(COUPLET_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
    # To GCC, what is local to a source seems to come from a header.
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>")
  endif()
endfunction()

string(REGEX MATCHALL "\n[a-z]+ = " folders "${layers_text}")
list(TRANSFORM folders REPLACE "[^a-z]" "")
set(COUPLET_LAYERS "")
set(COUPLET_SOURCES "")
set(layer_objects "")
foreach(folder IN LISTS folders)
  couplet_add_layer(${folder})
  if(TARGET couplet_layer_${folder})
    list(APPEND COUPLET_LAYERS ${folder})
    get_target_property(layer_sources couplet_layer_${folder} SOURCES)
    list(APPEND COUPLET_SOURCES ${layer_sources})
    list(APPEND layer_objects $<TARGET_OBJECTS:couplet_layer_${folder}>)
  endif()
endforeach()
foreach(folder IN LISTS COUPLET_LAYERS)
  couplet_layers_below(${folder} below)
  foreach(other IN LISTS below)
    if(TARGET couplet_layer_${other})
      target_link_libraries(couplet_layer_${folder} PUBLIC couplet_layer_${other})
    endif()
  endforeach()
endforeach()
target_include_directories(couplet_layer_link SYSTEM PRIVATE ${UCX_INCLUDE_DIRS})
target_compile_definitions(couplet_layer_runtime PRIVATE COUPLET_LIBEXEC_FROM_LIB="${COUPLET_LIBEXEC_FROM_LIB}")

# libcouplet.a: for unit tests of internals, and for the helper programs.
add_library(couplet_core STATIC ${layer_objects})
set_target_properties(couplet_core PROPERTIES OUTPUT_NAME couplet)
target_link_libraries(couplet_core PUBLIC couplet_internal)

add_library(couplet SHARED ${layer_objects})
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
