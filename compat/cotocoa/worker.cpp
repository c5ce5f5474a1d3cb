// The worker's functions of ctca.h.
#include "ctca.h"
#include "session.hpp"

using namespace ctca;

int CTCAW_init(int progid, int procspercomm) {
  return start_session("CTCAW_init", Role::worker, progid, procspercomm);
}

// The numbers are the sizes of CoToCoA's tables. Couplet's tables grow, so they are not needed.
int CTCAW_init_detail(int progid, int procspercomm, int /*numareas*/, int /*intparams*/) {
  return start_session("CTCAW_init_detail", Role::worker, progid, procspercomm);
}

int CTCAW_finalize(void) {
  return end_session("CTCAW_finalize", Role::worker);
}

int CTCAW_isfin(void) {
  return enter(__func__, Role::worker, Cost::none, [](Session& session) { return session.finished() ? 1 : 0; });
}

int CTCAW_pollreq(int* fromrank, int* intparams, int numintparams) {
  return enter(__func__, Role::worker, Cost::wait, [&](Session& session) {
    session.poll_as_worker("CTCAW_pollreq", fromrank, {intparams, numintparams});
  });
}

int CTCAW_complete(void) {
  return enter(__func__, Role::worker, Cost::request, [](Session& session) { session.complete("CTCAW_complete"); });
}

#define CTCA_FUNCTIONS_(T, element, code)                                                                            \
  int CTCAW_regarea_##T(int* areaid) {                                                                               \
    return enter(__func__, Role::worker, Cost::area,                                                                 \
                 [&](Session& session) { *areaid = session.register_area("CTCAW_regarea_" #T, code, nullptr, 0); }); \
  }                                                                                                                  \
  int CTCAW_readarea_##T(int areaid, int reqrank, size_t offset, size_t size, element* dest) {                       \
    return enter(__func__, Role::worker, Cost::area, [&](Session& session) {                                         \
      session.move_area("CTCAW_readarea_" #T, false, code, areaid, reqrank, offset, size, dest);                     \
    });                                                                                                              \
  }                                                                                                                  \
  int CTCAW_writearea_##T(int areaid, int reqrank, size_t offset, size_t size, element* src) {                       \
    return enter(__func__, Role::worker, Cost::area, [&](Session& session) {                                         \
      session.move_area("CTCAW_writearea_" #T, true, code, areaid, reqrank, offset, size, src);                      \
    });                                                                                                              \
  }                                                                                                                  \
  int CTCAW_pollreq_with##T(int* fromrank, int* intparams, int numintparams, element* data, size_t datanum) {        \
    return enter(__func__, Role::worker, Cost::wait, [&](Session& session) {                                         \
      session.poll_as_worker("CTCAW_pollreq_with" #T, fromrank, {intparams, numintparams, data, datanum, code});     \
    });                                                                                                              \
  }
CTCA_FOR_EACH_TYPE_(CTCA_FUNCTIONS_)

#define CTCA_PROFILING_(name)                                                                             \
  int CTCAW_prof_##name(void) {                                                                           \
    return enter(__func__, Role::worker, Cost::none, [](Session& session) { session.profile().name(); }); \
  }
CTCA_PROFILING_(start)
CTCA_PROFILING_(stop)
CTCA_PROFILING_(start_calc)
CTCA_PROFILING_(stop_calc)
