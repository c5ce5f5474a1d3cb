// The memory of this test program, as that of tests/unit/message: a chosen allocation fails.
#include "unit/message/memory.cpp"  // NOLINT: a library would replace the memory of all test programs
