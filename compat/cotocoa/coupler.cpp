// The coupler's functions of ctca.h.
#include "ctca.h"
#include "session.hpp"

using namespace ctca;

int CTCAC_init(void) {
  return start_session("CTCAC_init", Role::coupler, 0, 1);
}

// The numbers are the sizes of CoToCoA's tables. Couplet's tables grow, so they are not needed.
int CTCAC_init_detail(int /*numareas*/, int /*numreqs*/, int /*intparams*/, size_t /*bufslotsz*/, int /*bufslotnum*/) {
  return start_session("CTCAC_init_detail", Role::coupler, 0, 1);
}

int CTCAC_finalize(void) {
  return end_session("CTCAC_finalize", Role::coupler);
}

int CTCAC_isfin(void) {
  return enter(__func__, Role::coupler, Cost::none, [](Session& session) { return session.finished() ? 1 : 0; });
}

int CTCAC_pollreq(int* reqinfo, int* fromrank, int* intparams, int numintparams) {
  return enter(__func__, Role::coupler, Cost::wait, [&](Session& session) {
    session.poll_as_coupler("CTCAC_pollreq", reqinfo, fromrank, {intparams, numintparams});
  });
}

int CTCAC_enqreq(int* reqinfo, int progid, int* intparams, int numintparams) {
  return enter(__func__, Role::coupler, Cost::request, [&](Session& session) {
    session.enqueue("CTCAC_enqreq", reqinfo, progid, {intparams, numintparams});
  });
}

#define CTCA_FUNCTIONS_(T, element, code)                                                                            \
  int CTCAC_regarea_##T(int* areaid) {                                                                               \
    return enter(__func__, Role::coupler, Cost::area,                                                                \
                 [&](Session& session) { *areaid = session.register_area("CTCAC_regarea_" #T, code, nullptr, 0); }); \
  }                                                                                                                  \
  int CTCAC_readarea_##T(int areaid, int reqrank, size_t offset, size_t size, element* dest) {                       \
    return enter(__func__, Role::coupler, Cost::area, [&](Session& session) {                                        \
      session.move_area("CTCAC_readarea_" #T, false, code, areaid, reqrank, offset, size, dest);                     \
    });                                                                                                              \
  }                                                                                                                  \
  int CTCAC_writearea_##T(int areaid, int reqrank, size_t offset, size_t size, element* src) {                       \
    return enter(__func__, Role::coupler, Cost::area, [&](Session& session) {                                        \
      session.move_area("CTCAC_writearea_" #T, true, code, areaid, reqrank, offset, size, src);                      \
    });                                                                                                              \
  }                                                                                                                  \
  int CTCAC_pollreq_with##T(int* reqinfo, int* fromrank, int* intparams, int numintparams, element* data,            \
                            size_t datanum) {                                                                        \
    return enter(__func__, Role::coupler, Cost::wait, [&](Session& session) {                                        \
      session.poll_as_coupler("CTCAC_pollreq_with" #T, reqinfo, fromrank,                                            \
                              {intparams, numintparams, data, datanum, code});                                       \
    });                                                                                                              \
  }                                                                                                                  \
  int CTCAC_enqreq_with##T(int* reqinfo, int progid, int* intparams, int numintparams, element* data,                \
                           size_t datanum) {                                                                         \
    return enter(__func__, Role::coupler, Cost::request, [&](Session& session) {                                     \
      session.enqueue("CTCAC_enqreq_with" #T, reqinfo, progid, {intparams, numintparams, data, datanum, code});      \
    });                                                                                                              \
  }
CTCA_FOR_EACH_TYPE_(CTCA_FUNCTIONS_)

#define CTCA_PROFILING_(name)                                                                              \
  int CTCAC_prof_##name(void) {                                                                            \
    return enter(__func__, Role::coupler, Cost::none, [](Session& session) { session.profile().name(); }); \
  }
CTCA_PROFILING_(start)
CTCA_PROFILING_(stop)
CTCA_PROFILING_(start_calc)
CTCA_PROFILING_(stop_calc)
