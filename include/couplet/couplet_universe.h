/* Universe and groups: joining and leaving, ranks and programs, and ordered sets of ranks.
 *
 * A universe is everything that is coupled in one run. Its ranks are numbered by program, in the order of the
 * programs' ids, and inside a program by the program's own ranks. */
#ifndef COUPLET_COUPLET_UNIVERSE_H
#define COUPLET_COUPLET_UNIVERSE_H

#include <couplet/couplet_status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct couplet_universe couplet_universe;
typedef struct couplet_group couplet_group;

typedef struct couplet_join_options {
  size_t struct_bytes;
  int32_t rank;            /* -1: taken from the launcher's environment (Open MPI, Hydra, Slurm), else 0 */
  int32_t size;            /* -1: likewise, else 1 */
  const char* hub;         /* "host:port"; NULL: the variable COUPLET_HUB */
  const char* secret_file; /* NULL: COUPLET_SECRET_FILE, else a file in the user's configuration directory */
  double timeout_s;        /* for all required programs to be complete; default COUPLET_JOIN_TIMEOUT, else 60 */
  int32_t threads;         /* 0 (default): one thread at a time; 1: threads take turns, a waiting one lets others in */
  int32_t reserved;
} couplet_join_options;

/* Sets the options to their defaults. */
COUPLET_API void couplet_join_options_init(couplet_join_options* options);

/* Joins this process to the universe as one rank of `program` (NULL: the variable COUPLET_PROGRAM).
 * Blocking: until all required programs are complete. Collective over the ranks of the program. options may be NULL.
 * COUPLET_ERROR_TIMEOUT: not all have come; the text names what is missing.
 * COUPLET_ERROR_NOT_FOUND: the universe has no such program.
 * COUPLET_ERROR_EXISTS: this rank of the program has joined already.
 * COUPLET_ERROR_AUTHENTICATION: the hub has another secret.
 * COUPLET_ERROR_HUB_LOST: no hub answers at the address.
 * COUPLET_ERROR_CONFIG: a variable or the secret's file is wrong.
 * COUPLET_INTERRUPTED: the interrupt check ended the call. */
COUPLET_API couplet_status couplet_join(const char* program, const couplet_join_options* options,
                                        couplet_universe** universe);

/* Leaves the universe in good order: closes what is open and delivers what was sent.
 * Ownership: the handle, and every handle made from it, is invalid afterwards, also after an error.
 * COUPLET_ERROR_HUB_LOST: there is no hub that could be told that a series was closed; all else was done.
 * COUPLET_ERROR_PEER_LOST (or another error of a send): a send has failed, and no wait or test has asked about it. The
 *   text says how many. The process has left.
 * COUPLET_ERROR_TIMEOUT: some sends are not complete, as nobody receives their messages. The process has left.
 * COUPLET_INTERRUPTED: the interrupt check ended the wait for receivers. The process has left, and what they had not
 *   taken is lost. */
COUPLET_API couplet_status couplet_leave(couplet_universe* universe);

/* Gives this process's rank in the universe, and the number of ranks of the universe. */
COUPLET_API couplet_status couplet_universe_rank(const couplet_universe* universe, int32_t* rank, int32_t* size);

/* Gives the number of programs, and the id of this process's program with its rank and size inside it. */
COUPLET_API couplet_status couplet_universe_program(const couplet_universe* universe, int32_t* program_count,
                                                    int32_t* program, int32_t* rank, int32_t* size);

/* Gives the name, the size and the first universe rank of the program with the id `program`.
 * Ownership: the name is the library's and is valid until leave. */
COUPLET_API couplet_status couplet_universe_describe_program(const couplet_universe* universe, int32_t program,
                                                             const char** name, int32_t* size, int32_t* first_rank);

/* Gives the universe rank of rank `rank` of the program called `name`.
 * COUPLET_ERROR_NOT_FOUND: there is no such program, or it has fewer ranks. */
COUPLET_API couplet_status couplet_universe_find_rank(const couplet_universe* universe, const char* name, int32_t rank,
                                                      int32_t* universe_rank);

/* Lets the library do pending work: it moves data of all requests. It does not wait, except for the answers of a hub
 * that was started again: for at most a fiftieth of the time since the last call, and for at most
 * 200 ms. */
COUPLET_API couplet_status couplet_universe_progress(couplet_universe* universe);

/* Writes a JSON text about links, limits and choices into `text`, at most `bytes` with the final 0. `needed` may be
 * NULL and gets the full length with the final 0.
 * COUPLET_ERROR_LIMIT: the text did not fit; `needed` is set. */
COUPLET_API couplet_status couplet_universe_explain(couplet_universe* universe, char* text, size_t bytes,
                                                    size_t* needed);

/* ---- groups ---- */

/* Gives the group of all ranks of the universe. Ownership: it belongs to the universe and need not be freed. */
COUPLET_API couplet_status couplet_universe_group(couplet_universe* universe, couplet_group** group);

/* Gives the group of all ranks of this program. Ownership: it belongs to the universe and need not be freed. */
COUPLET_API couplet_status couplet_universe_program_group(couplet_universe* universe, couplet_group** group);

/* Makes an ordered set of `count` universe ranks under a name. Every member makes the same call with the same
 * arguments; no message is sent. Messages of groups that differ in name or members never match.
 * Ownership: free it with couplet_group_free, or leave it to couplet_leave. */
COUPLET_API couplet_status couplet_group_create(couplet_universe* universe, const char* name, const int32_t* ranks,
                                                int32_t count, couplet_group** group);

/* Makes the group of the ranks 0 of all programs, in the order of the programs.
 * Ownership: as of couplet_group_create. */
COUPLET_API couplet_status couplet_group_create_heads(couplet_universe* universe, const char* name,
                                                      couplet_group** group);

/* Makes the group of all ranks of one program, under the name "ranks of PROGRAM". Other processes may make it too: they
 * are no members.
 * Ownership: as of couplet_group_create.
 * COUPLET_ERROR_NOT_FOUND: there is no such program. */
COUPLET_API couplet_status couplet_group_create_program(couplet_universe* universe, const char* program,
                                                        couplet_group** group);

/* Returns another value than 0 for the universe ranks that belong to a group. `program` is the id of their program. It
 * must not call Couplet, and has to decide alike in every process. */
typedef int32_t (*couplet_group_filter)(int32_t rank, int32_t program, void* context);

/* Makes the group of the universe ranks for which `keep` returns another value than 0, in their order.
 * Ownership: as of couplet_group_create.
 * COUPLET_ERROR_ARGUMENT: there is no such rank. */
COUPLET_API couplet_status couplet_group_create_filtered(couplet_universe* universe, const char* name,
                                                         couplet_group_filter keep, void* context,
                                                         couplet_group** group);

/* Gives the caller's rank in the group, -1 if it is not a member, and the number of members. */
COUPLET_API couplet_status couplet_group_rank(const couplet_group* group, int32_t* rank, int32_t* size);

/* Frees a group that couplet_group_create has made.
 *
 * COUPLET_ERROR_STATE: a request of the group is not complete, or a collective call on it has not ended. The group is
 * not freed then. A request that is complete may be waited for afterwards. */
COUPLET_API couplet_status couplet_group_free(couplet_group* group);

#ifdef __cplusplus
}
#endif
#endif
