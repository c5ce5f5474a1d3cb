// The requester's functions of ctca.h.
#include "ctca.h"
#include "session.hpp"

using namespace ctca;

int CTCAR_init(void) {
  return start_session("CTCAR_init", Role::requester, 0, 1);
}

// The numbers are the sizes of CoToCoA's tables. Couplet's tables grow, so they are not needed.
int CTCAR_init_detail(int /*numareas*/, int /*numreqs*/, int /*intparams*/) {
  return start_session("CTCAR_init_detail", Role::requester, 0, 1);
}

int CTCAR_finalize(void) {
  return end_session("CTCAR_finalize", Role::requester);
}

int CTCAR_sendreq(int* intparams, int numintparams) {
  return enter(__func__, Role::requester, Cost::request, [&](Session& session) {
    session.send_request("CTCAR_sendreq", {intparams, numintparams}, nullptr);
  });
}

int CTCAR_sendreq_hdl(int* intparams, int numintparams, int64_t* hdl) {
  return enter(__func__, Role::requester, Cost::request, [&](Session& session) {
    session.send_request("CTCAR_sendreq_hdl", {intparams, numintparams}, hdl);
  });
}

int CTCAR_wait(int64_t hdl) {
  return enter(__func__, Role::requester, Cost::wait, [&](Session& session) { session.wait("CTCAR_wait", hdl); });
}

int CTCAR_test(int64_t hdl) {
  return enter(__func__, Role::requester, Cost::wait,
               [&](Session& session) { return session.test("CTCAR_test", hdl) ? 1 : 0; });
}

#define CTCA_FUNCTIONS_(T, element, code)                                                                            \
  int CTCAR_regarea_##T(element* base, size_t size, int* areaid) {                                                   \
    return enter(__func__, Role::requester, Cost::area,                                                              \
                 [&](Session& session) { *areaid = session.register_area("CTCAR_regarea_" #T, code, base, size); }); \
  }                                                                                                                  \
  int CTCAR_sendreq_with##T(int* intparams, int numintparams, element* data, size_t datanum) {                       \
    return enter(__func__, Role::requester, Cost::request, [&](Session& session) {                                   \
      session.send_request("CTCAR_sendreq_with" #T, {intparams, numintparams, data, datanum, code}, nullptr);        \
    });                                                                                                              \
  }                                                                                                                  \
  int CTCAR_sendreq_with##T##_hdl(int* intparams, int numintparams, element* data, size_t datanum, int64_t* hdl) {   \
    return enter(__func__, Role::requester, Cost::request, [&](Session& session) {                                   \
      session.send_request("CTCAR_sendreq_with" #T "_hdl", {intparams, numintparams, data, datanum, code}, hdl);     \
    });                                                                                                              \
  }
CTCA_FOR_EACH_TYPE_(CTCA_FUNCTIONS_)

#define CTCA_PROFILING_(name, member)                                                                          \
  int CTCAR_prof_##name(void) {                                                                                \
    return enter(__func__, Role::requester, Cost::none, [](Session& session) { session.profile().member(); }); \
  }
CTCA_PROFILING_(start, start)
CTCA_PROFILING_(stop, stop)
CTCA_PROFILING_(start_total, start_total)
CTCA_PROFILING_(stop_total, stop_total)
CTCA_PROFILING_(start_calc, start_calc)
CTCA_PROFILING_(stop_calc, stop_calc)
