#include "os/error.hpp"

#include <system_error>

#include "os/host.hpp"

namespace couplet::os {
namespace {

Code code_of(int error) noexcept {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Code::no_space;
    case ENOENT:
      return Code::not_found;
    case EEXIST:
      return Code::exists;
    case ENOMEM:
      return Code::memory;
    case EMFILE:
    case ENFILE:
      return Code::limit;
    case ENOSYS:
    case EOPNOTSUPP:
      return Code::unsupported;
    default:
      return Code::system;
  }
}

}  // namespace

Status system_failure(int error, const std::string& what) {
  if (error == EMFILE) {
    return fail(Code::limit, "{}: {} (at most {} in this process)", what, std::generic_category().message(error),
                descriptor_limit());
  }
  return fail(code_of(error), "{}: {}", what, std::generic_category().message(error));
}

}  // namespace couplet::os
