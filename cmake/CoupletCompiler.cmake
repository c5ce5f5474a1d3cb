# couplet_flags: the flags with which every target of this project is compiled. There is no -march=native: copy kernels
# are chosen at run time.
set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# Assertions of our own stay on in every build.
foreach(language C CXX Fortran)
  set(CMAKE_${language}_FLAGS_RELWITHDEBINFO "-O2 -g1")
  set(CMAKE_${language}_FLAGS_RELEASE "-O2")
  set(CMAKE_${language}_FLAGS_SANITIZE "-O1 -g1")
endforeach()

# ccache, with paths relative to the checkout, so that several checkouts share their results.
find_program(COUPLET_CCACHE ccache)
if(COUPLET_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(ccache_environment CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1)
  foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env ${ccache_environment} ${COUPLET_CCACHE})
  endforeach()
endif()

add_library(couplet_flags INTERFACE)
target_compile_options(couplet_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow;-Wcast-align>"
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wformat=2;-Wno-missing-field-initializers>"
  "$<$<COMPILE_LANGUAGE:CXX>:-Wsign-conversion;-Wnon-virtual-dtor;-Woverloaded-virtual>"
  "$<$<COMPILE_LANGUAGE:Fortran>:-std=f2018;-Wall;-Wextra;-Wno-c-binding-type;-Wno-compare-reals>"
  "$<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(couplet_flags INTERFACE "$<$<COMPILE_LANGUAGE:C,CXX>:-Wlogical-op;-Wduplicated-cond>")
endif()
# Other compiler versions have other warnings, and a user's build must not fail for that.
if(COUPLET_WERROR AND ((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
                       OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)))
  target_compile_options(couplet_flags INTERFACE "$<$<COMPILE_LANGUAGE:C,CXX>:-Werror>")
endif()

if(COUPLET_SANITIZE)
  add_compile_options(-fsanitize=${COUPLET_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${COUPLET_SANITIZE})
  if(COUPLET_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)  # docs/decisions names the fences that matter
  endif()
endif()
