# One layout for the build tree and the installed tree (lib/, libexec/couplet/, include/), so that the library
# finds its helper programs relative to itself in both.
include(GNUInstallDirs)
if(DEFINED SKBUILD)
  # In a wheel everything is inside the package.
  set(CMAKE_INSTALL_LIBDIR couplet/lib)
  set(CMAKE_INSTALL_INCLUDEDIR couplet/include)
  set(CMAKE_INSTALL_LIBEXECDIR couplet/libexec)
  set(CMAKE_INSTALL_DATADIR couplet/share)
endif()
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(COUPLET_LIBEXEC_BUILD_DIR "${PROJECT_BINARY_DIR}/libexec/couplet")
set(COUPLET_LIBEXEC_INSTALL_DIR "${CMAKE_INSTALL_LIBEXECDIR}/couplet")
# From the folder of libcouplet.so to the folder of its helper programs.
file(RELATIVE_PATH COUPLET_LIBEXEC_FROM_LIB
     "/${CMAKE_INSTALL_LIBDIR}" "/${COUPLET_LIBEXEC_INSTALL_DIR}")

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
