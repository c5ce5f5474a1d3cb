# Toolchain file: big-endian s390x, with Debian's cross compiler and qemu-user (make test-cross).
set(COUPLET_CROSS_ARCHITECTURE s390x)
set(COUPLET_CROSS_TRIPLET s390x-linux-gnu)
set(COUPLET_CROSS_EMULATOR qemu-s390x)
set(CMAKE_SYSTEM_PROCESSOR s390x)
include("${CMAKE_CURRENT_LIST_DIR}/CoupletCross.cmake")
