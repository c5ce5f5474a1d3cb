// The functions of libucp that the link ucx calls. The library is loaded when the first worker is opened, so that a
// process that does not use the link neither loads nor needs it. Only files of this folder include this one.
#pragma once

#include <ucp/api/ucp.h>

#include <string>

#include "base/status.hpp"

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): the list is used for the declarations and for the look-up
#define COUPLET_UCP_FUNCTIONS(each)                                                                                 \
  each(ucp_get_version_string) each(ucp_config_read) each(ucp_config_modify) each(ucp_config_release)               \
      each(ucp_init_version) each(ucp_cleanup) each(ucp_worker_create) each(ucp_worker_destroy)                     \
          each(ucp_worker_get_address) each(ucp_worker_release_address) each(ucp_worker_progress)                   \
              each(ucp_worker_get_efd) each(ucp_worker_arm) each(ucp_worker_fence)                                  \
                  each(ucp_worker_set_am_recv_handler) each(ucp_ep_create) each(ucp_ep_close_nbx)                   \
                      each(ucp_ep_flush_nbx) each(ucp_am_send_nbx) each(ucp_am_data_release) each(ucp_request_free) \
                          each(ucp_mem_map) each(ucp_mem_query) each(ucp_mem_unmap) each(ucp_rkey_pack)             \
                              each(ucp_rkey_buffer_release) each(ucp_ep_rkey_unpack) each(ucp_rkey_destroy)         \
                                  each(ucp_put_nbx) each(ucs_status_string)

namespace couplet::link {

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define COUPLET_DECLARE_UCP(name) decltype(&::name) name = nullptr;
struct UcpLibrary {
  // Loads the library, which then stays loaded. Returns unsupported, with the reason of the system, if that is not
  // possible. The handlers of signals stay as they were.
  static Result<UcpLibrary> load();

  COUPLET_UCP_FUNCTIONS(COUPLET_DECLARE_UCP)
};
#undef COUPLET_DECLARE_UCP

// Returns Code::code with the text "<what>: <text of UCX>".
[[nodiscard]] Status ucx_failure(const UcpLibrary& ucp, Code code, std::string_view what, ucs_status_t status);

}  // namespace couplet::link
