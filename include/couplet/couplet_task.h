/* Tasks: requests with integer parameters and an optional payload, done by groups of worker ranks.
 *
 * A requester submits tasks, a coupler dispatches them, and groups of worker ranks do them. All processes that take
 * part open the tasks under one name, and name the program whose ranks are the couplers. */
#ifndef COUPLET_COUPLET_TASK_H
#define COUPLET_COUPLET_TASK_H

#include <couplet/couplet_universe.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct couplet_tasks couplet_tasks; /* one process's part in the tasks of one name */
typedef struct couplet_task couplet_task;   /* one task, as its requester sees it */

enum { COUPLET_TASKS_REQUESTER = 0, COUPLET_TASKS_WORKER = 1, COUPLET_TASKS_COUPLER = 2 };
enum { COUPLET_TASKS_FAIL = 0, COUPLET_TASKS_RETRY = 1 };
enum { COUPLET_TASKS_FIRST_IDLE = 0, COUPLET_TASKS_ROUND_ROBIN = 1 };
#define COUPLET_TASKS_ANY_WORKER (-1)

typedef struct couplet_tasks_options {
  size_t struct_bytes;
  int32_t role;       /* COUPLET_TASKS_REQUESTER (default), COUPLET_TASKS_WORKER or COUPLET_TASKS_COUPLER */
  int32_t worker_id;  /* worker: the id by which requests find it, from 0 on; -1 (default): the id of its program */
  int32_t group_size; /* worker: how many consecutive ranks do a task together; 0 (default): all of the program */
  int32_t on_lost;    /* coupler: a lost worker's task fails (COUPLET_TASKS_FAIL) or is given to others (..._RETRY) */
  int32_t policy;     /* coupler, for COUPLET_TASKS_ANY_WORKER: COUPLET_TASKS_FIRST_IDLE or ..._ROUND_ROBIN over ids */
  int32_t reserved;
  uint64_t queue_limit;   /* coupler: the largest number of waiting tasks; 0 (default): as many as memory holds */
  const char* couplers;   /* the program whose ranks dispatch; default "coupler" */
  const char* requesters; /* coupler: the programs that submit, comma separated; NULL: all that are not workers */
  const char* workers;    /* coupler: the programs that work; NULL: all that are not requesters. Not both may be NULL */
} couplet_tasks_options;

/* Sets the options to their defaults. */
COUPLET_API void couplet_tasks_options_init(couplet_tasks_options* options);

/* Opens the tasks `name`. It waits for no message. Every rank of a worker program makes the same call.
 * COUPLET_ERROR_NOT_FOUND: there is no program of the couplers' name.
 * COUPLET_ERROR_EXISTS: this process has opened these tasks already. */
COUPLET_API couplet_status couplet_tasks_open(couplet_universe* universe, const char* name,
                                              const couplet_tasks_options* options, couplet_tasks** tasks);

/* Closes this process's part. A requester submits nothing further; what is under way goes on. A worker's tasks that
 * were not begun are given back. A coupler ends all tasks.
 * Ownership: the handle, and handles of tasks that are not done, are invalid afterwards.
 * A requester's call fails if a coupler cannot be told that this rank has closed the tasks. Else it returns the first
 * error of the tasks that were submitted without a handle and have ended by then. */
COUPLET_API couplet_status couplet_tasks_close(couplet_tasks* tasks);

/* Submits a task to the workers with the id `worker`, or to COUPLET_TASKS_ANY_WORKER; a coupler of the user may choose
 * otherwise. Requesters only. `task` may be NULL.
 * Blocking: until a coupler has taken the task, at most timeout_s. Then parameters and payload may be changed. With a
 * timeout of 0 it does not wait for room in the queue, but at most 10 s for the coupler's answer.
 * COUPLET_FULL: the coupler's queue is full, and stayed full within the timeout.
 * COUPLET_ERROR_TIMEOUT: the coupler makes no call, or has not opened tasks of that name; the text names it.
 * COUPLET_ERROR_NOT_FOUND: no workers have this id.
 * COUPLET_ERROR_PEER_LOST: no coupler is left; or all workers with this id are lost or have closed; or the connection
 * to the coupler failed while it had the request, which may then be done or not.
 * COUPLET_ERROR_LIMIT: more than 4,096 parameters, or more than 1 GiB less 1 MiB of payload.
 * COUPLET_INTERRUPTED: the interrupt check ended the wait. The request is withdrawn; a worker or a coupler of the user
 * that has it in hand does it nevertheless. */
COUPLET_API couplet_status couplet_tasks_submit(couplet_tasks* tasks, int32_t worker, const int64_t* parameters,
                                                int32_t parameter_count, const void* payload, uint64_t payload_count,
                                                couplet_type type, double timeout_s, couplet_task** task);

/* Waits until the task is done, and returns how it ended: COUPLET_OK, the error that a worker or coupler gave, or
 * COUPLET_ERROR_PEER_LOST. The task is freed and its handle becomes NULL.
 * COUPLET_ERROR_TIMEOUT, COUPLET_INTERRUPTED: the task is still under way, and its handle stays valid. */
COUPLET_API couplet_status couplet_task_wait(couplet_task** task, double timeout_s);

/* Says whether the task is done: `done` gets 1 (the returned status is then the task's) or 0. Never blocks. */
COUPLET_API couplet_status couplet_task_test(couplet_task** task, int32_t* done);

/* Waits until one of the tasks is done; all belong to one couplet_tasks. `index` gets its place in the array, or -1
 * if all are NULL. The returned status is that task's.
 * COUPLET_ERROR_TIMEOUT, COUPLET_INTERRUPTED: no task is done, and all handles stay valid. */
COUPLET_API couplet_status couplet_task_waitany(int32_t count, couplet_task** tasks, double timeout_s, int32_t* index);

/* What a task is. Parameters and payload are the library's, until the task is dispatched or completed. */
typedef struct couplet_task_info {
  size_t struct_bytes; /* set by the caller */
  uint64_t id;         /* the coupler's number of the task */
  int32_t source;      /* universe rank of its requester */
  int32_t worker;      /* the worker id that it is for */
  const int64_t* parameters;
  const void* payload; /* NULL if it has none */
  uint64_t payload_count;
  int32_t parameter_count;
  couplet_type type; /* the type of the payload */
} couplet_task_info;

/* What a worker expects of the next task; -1 (default) accepts anything. */
typedef struct couplet_task_expectation {
  size_t struct_bytes;
  int64_t parameter_count;
  int64_t payload_count;
  couplet_type type;
  int32_t reserved;
} couplet_task_expectation;

/* Sets the expectation to its defaults. */
COUPLET_API void couplet_task_expectation_init(couplet_task_expectation* expectation);

/* Gives the next task. Workers: collective over the group that does a task together, which gets the same task on
 * every rank. Couplers: the next request, to be dispatched or completed; `expected` is ignored. `expected` may be
 * NULL.
 * Blocking: at most timeout_s of the group's first rank, for which the others wait.
 * COUPLET_NOT_YET: the timeout has passed.
 * COUPLET_INTERRUPTED: the interrupt check ended the wait.
 * COUPLET_END: all requesters have closed, and everything is done. If requesters come again, a later call
 * gets their tasks; until then it gives COUPLET_END at once.
 * COUPLET_ERROR_PEER_LOST: a rank of the group was lost; or no task is left, and a coupler was lost that may have had
 * more. If that coupler is started again, a later call gets its tasks. Couplers: nothing is left to do, and the last
 * requesters were lost before they had closed. If one of them is started again, a later call gets its requests.
 * COUPLET_ERROR_ARGUMENT, COUPLET_ERROR_TYPE, COUPLET_ERROR_SHAPE: the number of parameters, or the type or
 * size of the payload, is not the expected one. The task is handed back to its requester with this error. */
COUPLET_API couplet_status couplet_tasks_next(couplet_tasks* tasks, const couplet_task_expectation* expected,
                                              double timeout_s, couplet_task_info* info);

/* Ends a task. Workers: the task in hand is done, with COUPLET_OK or with an error code and its sentence `text`
 * (may be NULL), which the requester gets; collective over the group; `id` is ignored. Couplers: task `id` ends
 * without a worker.
 * COUPLET_ERROR_STATE: the task is not in hand, for example because it was completed already. */
COUPLET_API couplet_status couplet_tasks_complete(couplet_tasks* tasks, uint64_t id, couplet_status outcome,
                                                  const char* text);

/* Gives the task `id` to workers, with these parameters and this payload, which may be those of its info. Couplers
 * only.
 * COUPLET_ERROR_NOT_FOUND: no workers have this id; the task stays in hand.
 * COUPLET_ERROR_PEER_LOST: all workers with this id are lost, or have closed; the task stays in hand.
 * COUPLET_ERROR_STATE: the task is not in hand, for example because it was dispatched already. */
COUPLET_API couplet_status couplet_tasks_dispatch(couplet_tasks* tasks, uint64_t id, int32_t worker,
                                                  const int64_t* parameters, int32_t parameter_count,
                                                  const void* payload, uint64_t payload_count, couplet_type type);

/* Runs the built-in coupler, which dispatches every request as it asks for. Couplers only.
 * COUPLET_OK: all requesters have closed, and everything is done.
 * COUPLET_NOT_YET: the timeout has passed.
 * COUPLET_INTERRUPTED: the interrupt check ended the wait.
 * COUPLET_ERROR_PEER_LOST: everything is done, and the last requesters were lost before they had closed.
 * COUPLET_ERROR_STATE: only tasks are left that `next` has given, and that were neither dispatched nor completed. */
COUPLET_API couplet_status couplet_tasks_run(couplet_tasks* tasks, double timeout_s);

#ifdef __cplusplus
}
#endif
#endif
