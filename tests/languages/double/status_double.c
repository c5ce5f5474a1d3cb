/* Loaded before libcouplet (LD_PRELOAD): couplet_join fails with the status that the program's name spells, so that a
 * test sees how each language reports errors that cannot be provoked. See test_errors.py. */
#include <couplet/couplet.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local char sentence[100];

couplet_status couplet_join(const char* program, const couplet_join_options* options, couplet_universe** universe) {
  (void)options;
  (void)universe;
  snprintf(sentence, sizeof sentence, "program 'double' on host 'nowhere', status %s", program);
  return atoi(program);
}

const char* couplet_error_text(void) {
  return sentence;
}
