# cmake --install, in components:
#   library      libcouplet.so and libcouplet_mpi_*.so          programs     couplet-hub, couplet-relay, ...
#   development  headers, libcouplet.a, CMake and pkg-config files, the Fortran modules' sources
#   python       what python/CMakeLists.txt installs
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/couplet")

install(TARGETS couplet ${COUPLET_MPI_LIBRARIES} EXPORT couplet
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT development)
if(COUPLET_PROGRAMS)
  install(TARGETS ${COUPLET_PROGRAMS} RUNTIME DESTINATION "${COUPLET_LIBEXEC_INSTALL_DIR}" COMPONENT programs)
endif()

install(TARGETS couplet_core ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/couplet" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT development)

install(EXPORT couplet NAMESPACE couplet:: FILE couplet-targets.cmake
        DESTINATION "${package_folder}" COMPONENT development)
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/couplet-config.cmake.in" "${PROJECT_BINARY_DIR}/couplet-config.cmake"
  INSTALL_DESTINATION "${package_folder}" PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/couplet-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/couplet-config.cmake" "${PROJECT_BINARY_DIR}/couplet-config-version.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/CoupletFindMpi.cmake"
        DESTINATION "${package_folder}" COMPONENT development)

# couplet.pc, and couplet-mpi-openmpi.pc and so on.
file(RELATIVE_PATH COUPLET_INCLUDE_FROM_LIB "/${CMAKE_INSTALL_LIBDIR}" "/${CMAKE_INSTALL_INCLUDEDIR}")
set(pc_name couplet)
set(pc_description "${PROJECT_DESCRIPTION}")
set(pc_requires "")
set(pc_library couplet)
configure_file("${PROJECT_SOURCE_DIR}/cmake/couplet.pc.in" "${PROJECT_BINARY_DIR}/couplet.pc" @ONLY)
set(pc_files "${PROJECT_BINARY_DIR}/couplet.pc")
foreach(library IN LISTS COUPLET_MPI_LIBRARIES)
  string(REPLACE "_" "-" pc_name "${library}")
  set(pc_description "Couplet, joined from a communicator of this MPI")
  set(pc_requires couplet)
  set(pc_library ${library})
  configure_file("${PROJECT_SOURCE_DIR}/cmake/couplet.pc.in" "${PROJECT_BINARY_DIR}/${pc_name}.pc" @ONLY)
  list(APPEND pc_files "${PROJECT_BINARY_DIR}/${pc_name}.pc")
endforeach()
install(FILES ${pc_files} DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
