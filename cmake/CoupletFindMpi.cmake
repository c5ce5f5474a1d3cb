# Finds MPIs by their suffixed compiler wrappers, since plain mpicc may be either. This project's build uses it and,
# installed, so does find_package(couplet). couplet_find_mpi(FLAVOUR) appends to COUPLET_MPI_FLAVOURS and makes
#   mpi::FLAVOUR          compile and link against that MPI, from C and C++
#   mpi::FLAVOUR_fortran  the same from Fortran (mpi_f08), if there is a Fortran compiler

# Makes TARGET from the -I, -L and -l flags among the words that a compiler wrapper prints.
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

# Runs WRAPPER with each of the options, and returns the joined outputs, or an empty string.
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

function(couplet_find_mpi flavour)
  if(flavour STREQUAL "openmpi")
    set(questions -showme:compile -showme:link)
  else()
    set(questions -compile-info -link-info)
  endif()
  couplet_ask_wrapper(flags mpicc.${flavour} ${questions})
  if(NOT flags)
    return()
  endif()
  couplet_mpi_target(mpi::${flavour} "${flags}")
  if(CMAKE_Fortran_COMPILER)
    couplet_ask_wrapper(flags mpifort.${flavour} ${questions})
    couplet_mpi_target(mpi::${flavour}_fortran "${flags}")
  endif()
  set(COUPLET_MPI_FLAVOURS ${COUPLET_MPI_FLAVOURS} ${flavour} PARENT_SCOPE)
endfunction()
