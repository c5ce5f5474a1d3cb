# What the toolchain files have in common. COUPLET_CROSS_ARCHITECTURE: Debian's name of the architecture.
# COUPLET_CROSS_TRIPLET: that of its compilers. The libraries come from build/sysroot/ARCHITECTURE, which
# tools/cross/sysroot makes; the C and C++ libraries come with the cross compiler.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${COUPLET_CROSS_TRIPLET}-gcc)
set(CMAKE_CXX_COMPILER ${COUPLET_CROSS_TRIPLET}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${COUPLET_CROSS_TRIPLET})

cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH couplet_cross_project)
set(couplet_cross_root "${couplet_cross_project}/build/sysroot/${COUPLET_CROSS_ARCHITECTURE}")
set(CMAKE_FIND_ROOT_PATH "${couplet_cross_root}" "/usr/${COUPLET_CROSS_TRIPLET}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${couplet_cross_root}")
set(ENV{PKG_CONFIG_LIBDIR}
    "${couplet_cross_root}/usr/lib/${COUPLET_CROSS_TRIPLET}/pkgconfig:${couplet_cross_root}/usr/share/pkgconfig")

# Runs programs of that architecture. -L: where they find their dynamic linker and their C library.
set(CMAKE_CROSSCOMPILING_EMULATOR ${COUPLET_CROSS_EMULATOR} -L "${couplet_cross_root}")
