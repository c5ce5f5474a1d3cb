# What libcouplet links. Each is a package of Debian 12 and Ubuntu 24.04; tools/bootstrap installs them.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)                          # libfmt-dev
find_package(nlohmann_json REQUIRED)                # nlohmann-json3-dev
find_package(PkgConfig REQUIRED)                    # pkg-config
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)  # libsodium-dev
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto>=3)  # libssl-dev: AES-GCM at the speed of the processor
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)  # libxxhash-dev
pkg_check_modules(UCX ucx>=1.12)  # libucx-dev, optional: the link ucx loads UCX at run time, and needs its headers here
if(NOT UCX_FOUND)
  message(STATUS "UCX not found: the link ucx and the exchange methods rdma_* are left out (package libucx-dev)")
endif()
