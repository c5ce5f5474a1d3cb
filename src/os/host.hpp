// Facts about this host and process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace couplet::os {

// Returns, for example, "n03", or "unknown" if the system does not say.
[[nodiscard]] std::string host_name();
// Returns an id that changes with each boot, or "unknown" if the system does not say.
[[nodiscard]] std::string boot_id();
// Returns, for example, "AMD EPYC 7763 64-Core Processor", or "unknown" if the system does not say.
[[nodiscard]] std::string processor_name();
// Returns the number of cores that this process may use, which is at least 1. Its affinity limits it, and so does the
// quota of its control group, if there is one.
[[nodiscard]] int usable_cores();
[[nodiscard]] std::uint32_t process_id() noexcept;
// Returns the number of files and sockets that this process may have open.
[[nodiscard]] std::size_t descriptor_limit() noexcept;
// Returns the base of the node directories: COUPLET_RUN_DIR, else /dev/shm/couplet-<uid>.
[[nodiscard]] std::string run_directory();
// Returns random bits from the system, which are fit for nonces.
[[nodiscard]] Result<std::uint64_t> random_bits();

}  // namespace couplet::os
