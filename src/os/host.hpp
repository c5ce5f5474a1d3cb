// Facts about this host and process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace couplet::os {

// "n03"; "unknown" where the system does not say.
[[nodiscard]] std::string host_name();
// Changes with each boot; "unknown" where the system does not say.
[[nodiscard]] std::string boot_id();
// Cores that this process may use: affinity, and the quota of its control group where there is one; at least 1.
[[nodiscard]] int usable_cores();
[[nodiscard]] std::uint32_t process_id() noexcept;
// How many files and sockets this process may have open.
[[nodiscard]] std::size_t descriptor_limit() noexcept;
// Base of the node directories: COUPLET_RUN_DIR, else /dev/shm/couplet-<uid>.
[[nodiscard]] std::string run_directory();
// Random bits from the system, fit for nonces.
[[nodiscard]] Result<std::uint64_t> random_bits();

}  // namespace couplet::os
