// Joins with a communicator: rank and size come from MPI, everything else from couplet_join. Compiled once for each
// MPI.
#include <link.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capi/private.h"
#include "couplet/couplet_mpi.h"
#include "exchange/mpi/methods.hpp"
#include "os/clock.hpp"
#include "series/mpi/window.hpp"

namespace {

// Seconds for which ranks wait for the others of the job to make a window. couplet_join has refused a
// COUPLET_JOIN_TIMEOUT that is no number.
double window_patience_s(double timeout_s) {
  constexpr double default_s = 60;
  const char* const text = std::getenv("COUPLET_JOIN_TIMEOUT");
  if (!std::isnan(timeout_s)) {
    return timeout_s;
  }
  return text == nullptr || *text == '\0' ? default_s : std::strtod(text, nullptr);
}

couplet_status mpi_error(const char* text) {
  return couplet_private_fail(COUPLET_ERROR_MPI, text);
}

// Returns the MPI libraries that this process has loaded: bit 0 is Open MPI, bit 1 MPICH and its relatives.
int loaded_libraries() {
  int found = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* context) {
        const char* slash = std::strrchr(info->dlpi_name, '/');
        const char* name = slash == nullptr ? info->dlpi_name : slash + 1;
        int& bits = *static_cast<int*>(context);
        if (std::strncmp(name, "libopen-pal.so", 14) == 0 || std::strncmp(name, "libmpi.so.40", 12) == 0) {
          bits |= 1;
        } else if (std::strncmp(name, "libmpich.so", 11) == 0 || std::strncmp(name, "libmpi.so.12", 12) == 0) {
          bits |= 2;
        }
        return 0;
      },
      &found);
  return found;
}

couplet_status require_mpi() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0) {
    return mpi_error("couplet_join_mpi: MPI is not initialised (or is finalised); call MPI_Init before");
  }
  return COUPLET_OK;
}

// Gets rank and size of `comm`, or says why it cannot.
couplet_status place_in(MPI_Comm comm, couplet_join_options& options) {
  if (const couplet_status status = require_mpi(); status != COUPLET_OK) {
    return status;
  }
  if (loaded_libraries() == 3) {
    return mpi_error("couplet_join_mpi: this process has loaded both Open MPI and MPICH; use one of them");
  }
  if (comm == MPI_COMM_NULL) {
    return couplet_private_fail(COUPLET_ERROR_ARGUMENT, "couplet_join_mpi: the communicator is MPI_COMM_NULL");
  }
  int rank = 0;
  int size = 0;
  if (MPI_Comm_rank(comm, &rank) != MPI_SUCCESS || MPI_Comm_size(comm, &size) != MPI_SUCCESS) {
    return mpi_error("couplet_join_mpi: the communicator is not valid");
  }
  options.rank = rank;
  options.size = size;
  return COUPLET_OK;
}

// Makes the window of the job if COUPLET_MPI_WINDOW_BYTES asks for one. COUPLET_MPI_WINDOW_DIRECT is used, too. `job`
// is then the number of the job; otherwise it stays as it is.
couplet_status open_window(couplet_universe* universe, double timeout_s, std::uint64_t& job) {
  const char* const text = std::getenv("COUPLET_MPI_WINDOW_BYTES");
  if (text == nullptr || *text == '\0') {
    return COUPLET_OK;
  }
  std::uint64_t bytes = 0;
  const char* const end = text + std::strlen(text);
  if (const auto read = std::from_chars(text, end, bytes); read.ec != std::errc() || read.ptr != end) {
    const std::string why =
        std::string("couplet_join_mpi: COUPLET_MPI_WINDOW_BYTES is '") + text + "', no number of bytes";
    return couplet_private_fail(COUPLET_ERROR_CONFIG, why.c_str());
  }
  std::int32_t self = 0;
  if (const couplet_status status = couplet_universe_rank(universe, &self, nullptr); status != COUPLET_OK) {
    return status;
  }
  const char* const direct = std::getenv("COUPLET_MPI_WINDOW_DIRECT");
  auto window = couplet::series::open_mpi_window(MPI_COMM_WORLD, static_cast<couplet::channel::PeerId>(self), bytes,
                                                 direct == nullptr || std::string_view(direct) != "0",
                                                 couplet::os::deadline_after(window_patience_s(timeout_s)));
  if (!window) {
    return couplet_private_fail(static_cast<couplet_status>(window.code()),
                                ("couplet_join_mpi: " + window.status().text()).c_str());
  }
  const std::uint64_t number = (*window)->job();
  const couplet_status used = couplet_private_use_window(universe, std::string(couplet::series::window_build).c_str(),
                                                         std::move(window).value().release());
  job = used == COUPLET_OK ? number : job;
  return used;
}

// Gives the universe the methods of exchange of this MPI, for groups of ranks that have joined with `comm`. If the job
// has a window, all its ranks join, and the methods are for groups of any of them.
couplet_status offer_methods(couplet_universe* universe, MPI_Comm comm, bool several_threads, std::uint64_t job) {
  using couplet::exchange::Job;
  const auto threads = several_threads ? Job::Threads::several : Job::Threads::one;
  auto opened = Job::open(job == 0 ? comm : MPI_COMM_WORLD, threads, job);
  if (!opened) {
    return couplet_private_fail(static_cast<couplet_status>(opened.code()),
                                ("couplet_join_mpi: " + opened.status().text()).c_str());
  }
  auto makers = couplet::exchange::mpi_methods(*opened);
  return couplet_private_use_methods(universe, std::string(couplet::exchange::methods_build).c_str(), &makers);
}

}  // namespace

extern "C" {

couplet_status couplet_join_mpi(const char* program, MPI_Comm comm, const couplet_join_options* options,
                                couplet_universe** universe) {
  couplet_join_options mine;
  couplet_join_options_init(&mine);
  if (options != nullptr) {
    std::memcpy(&mine, options, options->struct_bytes < sizeof mine ? options->struct_bytes : sizeof mine);
    mine.struct_bytes = sizeof mine;
  }
  if (const couplet_status status = place_in(comm, mine); status != COUPLET_OK) {
    return status;
  }
  couplet_universe* joined = nullptr;
  const couplet_status own = couplet_join(program, &mine, &joined);
  const std::string own_text = own == COUPLET_OK ? "" : couplet_error_text();
  // All ranks join, or none: the rank with the first error sends it to the others.
  struct {
    int status;
    int rank;
  } mine_worst{own, mine.rank}, worst{0, 0};
  if (MPI_Allreduce(&mine_worst, &worst, 1, MPI_2INT, MPI_MINLOC, comm) != MPI_SUCCESS) {
    return mpi_error("couplet_join_mpi: MPI_Allreduce failed");
  }
  if (worst.status == COUPLET_OK) {
    std::uint64_t job = 0;
    couplet_status status = open_window(joined, mine.timeout_s, job);
    status = status == COUPLET_OK ? offer_methods(joined, comm, mine.threads != 0, job) : status;
    if (status != COUPLET_OK) {
      const std::string text = couplet_error_text();
      couplet_leave(joined);
      return couplet_private_fail(status, text.c_str());
    }
    *universe = joined;
    return COUPLET_OK;
  }
  if (own == COUPLET_OK) {
    couplet_leave(joined);
    const std::string text = "couplet_join_mpi: rank " + std::to_string(worst.rank) +
                             " of this program could not join (" + couplet_status_name(worst.status) + ")";
    return couplet_private_fail(worst.status, text.c_str());
  }
  return couplet_private_fail(own, own_text.c_str());
}

couplet_status couplet_join_mpi_f(const char* program, MPI_Fint comm, const couplet_join_options* options,
                                  couplet_universe** universe) {
  if (const couplet_status status = require_mpi(); status != COUPLET_OK) {
    // This is checked before MPI_Comm_f2c, because Open MPI ends the process if that is called before MPI_Init.
    return status;
  }
  return couplet_join_mpi(program, MPI_Comm_f2c(comm), options, universe);
}

couplet_status couplet_join_mpi_pointer(const char* program, const void* comm, const couplet_join_options* options,
                                        couplet_universe** universe) {
  if (comm == nullptr) {
    return couplet_private_fail(COUPLET_ERROR_ARGUMENT,
                                "couplet_join_mpi_pointer: the pointer to the communicator is NULL");
  }
  MPI_Comm value;
  std::memcpy(&value, comm, sizeof value);  // NOLINT(bugprone-sizeof-expression): a handle, which may be a pointer
  return couplet_join_mpi(program, value, options, universe);
}

const char* couplet_mpi_version(void) {
  static const std::string text = [] {
    char buffer[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(buffer, &length);
    std::string whole(buffer, static_cast<std::size_t>(length));
    return whole.substr(0, whole.find('\n'));
  }();
  return text.c_str();
}

}  // extern "C"
