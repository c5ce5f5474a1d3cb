// The memory of this test program: as in test_message.
#include "unit/message/memory.cpp"  // NOLINT(bugprone-suspicious-include): one source of several programs
