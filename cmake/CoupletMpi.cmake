# For each MPI found, a flavour of its own: openmpi, mpich, abi.
#   mpi::FLAVOUR          compile and link against that MPI, from C and C++
#   mpi::FLAVOUR_fortran  the same from Fortran (mpi_f08), where there is a Fortran compiler
#   couplet_mpi_FLAVOUR   libcouplet_mpi_FLAVOUR.so, also couplet::mpi_FLAVOUR; built once src/*/mpi/*.cpp exist
# COUPLET_MPI_FLAVOURS lists them. Only the suffixed compiler wrappers are asked: plain mpicc may be either MPI.
set(COUPLET_MPI_FLAVOURS "")

# Makes TARGET out of the -I, -L and -l flags among the words of a compiler wrapper's answer.
function(couplet_mpi_target target)
  separate_arguments(words UNIX_COMMAND "${ARGN}")
  list(REMOVE_DUPLICATES words)
  set(directories "")
  set(libraries "")
  foreach(word IN LISTS words)
    if(word MATCHES "^-I(.+)$")
      get_filename_component(directory "${CMAKE_MATCH_1}" ABSOLUTE)
      list(APPEND directories "${directory}")
    elseif(word MATCHES "^-[Ll]")
      list(APPEND libraries "${word}")
    endif()
  endforeach()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${directories})
  target_link_libraries(${target} INTERFACE ${libraries})
  target_compile_definitions(${target} INTERFACE
    "$<$<COMPILE_LANGUAGE:C,CXX>:OMPI_SKIP_MPICXX;MPICH_SKIP_MPICXX>")
endfunction()

# Asks WRAPPER with each of the options; the joined answers, or an empty string.
function(couplet_ask_wrapper result wrapper)
  set(answers "")
  find_program(COUPLET_WRAPPER_${wrapper} ${wrapper})
  if(COUPLET_WRAPPER_${wrapper})
    foreach(question IN LISTS ARGN)
      execute_process(COMMAND ${COUPLET_WRAPPER_${wrapper}} ${question}
                      OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
      if(status EQUAL 0)
        string(APPEND answers " ${answer}")
      endif()
    endforeach()
  endif()
  set(${result} "${answers}" PARENT_SCOPE)
endfunction()

function(couplet_find_mpi flavour packages)
  couplet_ask_wrapper(flags mpicc.${flavour} ${ARGN})
  if(NOT flags)
    message(WARNING "mpicc.${flavour} not found: libcouplet_mpi_${flavour} is NOT built, and the tests and examples "
                    "that need it are left out (packages ${packages})")
    return()
  endif()
  couplet_mpi_target(mpi::${flavour} "${flags}")
  if(CMAKE_Fortran_COMPILER)
    couplet_ask_wrapper(flags mpifort.${flavour} ${ARGN})
    couplet_mpi_target(mpi::${flavour}_fortran "${flags}")
  endif()
  set(COUPLET_MPI_FLAVOURS ${COUPLET_MPI_FLAVOURS} ${flavour} PARENT_SCOPE)
endfunction()

function(couplet_find_mpi_abi)
  find_path(COUPLET_MPI_ABI_INCLUDE mpi.h PATHS "${COUPLET_MPI_ABI}/include" NO_DEFAULT_PATH REQUIRED)
  find_library(COUPLET_MPI_ABI_LIBRARY mpi_abi PATHS "${COUPLET_MPI_ABI}/lib" NO_DEFAULT_PATH REQUIRED)
  add_library(mpi::abi INTERFACE IMPORTED GLOBAL)
  target_include_directories(mpi::abi SYSTEM INTERFACE "${COUPLET_MPI_ABI_INCLUDE}")
  target_link_libraries(mpi::abi INTERFACE "${COUPLET_MPI_ABI_LIBRARY}")
  set(COUPLET_MPI_FLAVOURS ${COUPLET_MPI_FLAVOURS} abi PARENT_SCOPE)
endfunction()

function(couplet_add_mpi_library flavour)
  set(target couplet_mpi_${flavour})
  add_library(${target} SHARED ${ARGN})
  add_library(couplet::mpi_${flavour} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    EXPORT_NAME mpi_${flavour} BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN")
  target_compile_definitions(${target} PRIVATE COUPLET_MPI_FLAVOUR="${flavour}" COUPLET_VERSION_STRING="${PROJECT_VERSION}")
  # Public functions come from libcouplet.so; helpers without state (base, layout, wire) are copied in from the archive.
  target_link_libraries(${target} PUBLIC couplet PRIVATE couplet_core $<BUILD_INTERFACE:mpi::${flavour}>)
  couplet_export_only_c_symbols(${target})
endfunction()

if(COUPLET_MPI)
  couplet_find_mpi(openmpi "openmpi-bin libopenmpi-dev" -showme:compile -showme:link)
  couplet_find_mpi(mpich "mpich libmpich-dev" -compile-info -link-info)
  if(COUPLET_MPI_ABI)
    couplet_find_mpi_abi()
  endif()
  file(GLOB mpi_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*/mpi/*.cpp")
  if(mpi_sources)
    foreach(flavour IN LISTS COUPLET_MPI_FLAVOURS)
      couplet_add_mpi_library(${flavour} ${mpi_sources})
    endforeach()
  endif()
endif()
message(STATUS "MPI flavours: ${COUPLET_MPI_FLAVOURS}")
