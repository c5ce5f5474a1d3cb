#include "exchange/mpi/job.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "exchange/mpi/call.hpp"
#include "os/host.hpp"

namespace couplet::exchange {
namespace {

bool is_over() noexcept {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

// The first line is enough: others have the date and place of the build.
std::string library_name() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view all(text.data(), static_cast<std::size_t>(length));
  return std::string(all.substr(0, all.find_first_of("\n,")));
}

}  // namespace

// The last one first: a member that is in two of them made them in the same order as the others.
void Job::Kept::free_all() noexcept {
  is_over = true;
  while (!freed.empty()) {
    const std::shared_ptr<Freed> last = std::move(freed.back());
    freed.pop_back();
    last->free_all();
  }
  if (comm != MPI_COMM_NULL) {
    MPI_Comm_free(&comm);
  }
}

int Job::delete_attribute(MPI_Comm /*self*/, int /*key*/, void* value, void* /*extra*/) noexcept {
  const std::unique_ptr<std::shared_ptr<Kept>> kept(static_cast<std::shared_ptr<Kept>*>(value));
  (*kept)->free_all();
  return MPI_SUCCESS;
}

Result<std::shared_ptr<Job>> Job::open(MPI_Comm comm, Threads threads, std::uint64_t identity) {
  std::shared_ptr<Job> made(new Job());
  MPI_Comm copy = MPI_COMM_NULL;
  COUPLET_TRY(check_mpi(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup"));
  made->kept_->comm = copy;
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  made->threads_ = threads;
  made->identity_ = identity;
  MPI_Comm_rank(copy, &made->rank_);
  made->library_ = library_name();
  if (identity == 0) {
    COUPLET_TRY_VALUE(made->identity_, os::random_bits());
    COUPLET_TRY(check_mpi(MPI_Bcast(&made->identity_, 1, MPI_UINT64_T, 0, copy), "MPI_Bcast"));
  }
  COUPLET_TRY(check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &made->key_, nullptr),
                        "MPI_Comm_create_keyval"));
  auto value = std::make_unique<std::shared_ptr<Kept>>(made->kept_);
  COUPLET_TRY(check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, made->key_, value.get()), "MPI_Comm_set_attr"));
  static_cast<void>(value.release());  // delete_attribute deletes it
  return made;
}

// What only all members together can free keeps the job until MPI_Finalize, which may destroy it while it deletes the
// attribute.
Job::~Job() {
  if (key_ == MPI_KEYVAL_INVALID || kept_->is_over || is_over()) {
    return;
  }
  MPI_Comm_delete_attr(MPI_COMM_SELF, key_);
  MPI_Comm_free_keyval(&key_);
}

MPI_Comm Job::comm() const noexcept {
  return kept_->comm;
}

Status Job::check_thread() const {
  if (kept_->is_over || is_over()) {
    return fail(Code::unsupported, "MPI_Finalize was called");
  }
  int level = MPI_THREAD_SINGLE;
  int is_main = 0;
  MPI_Query_thread(&level);
  MPI_Is_thread_main(&is_main);
  if (threads_ == Threads::several && level < MPI_THREAD_MULTIPLE) {
    return fail(Code::unsupported,
                "several threads use this universe, but MPI was not initialised with MPI_THREAD_MULTIPLE");
  }
  if (is_main == 0 && level < MPI_THREAD_SERIALIZED) {
    return fail(Code::unsupported,
                "this is not the thread that has initialised MPI, and MPI allows calls only by that thread "
                "(MPI_THREAD_FUNNELED or less)");
  }
  return {};
}

void Job::keep(std::shared_ptr<Freed> freed) {
  kept_->freed.push_back(std::move(freed));
}

void Job::forget(const Freed* freed) noexcept {
  const auto found = std::find_if(kept_->freed.begin(), kept_->freed.end(),
                                  [freed](const std::shared_ptr<Freed>& one) { return one.get() == freed; });
  if (found != kept_->freed.end()) {
    kept_->freed.erase(found);
  }
}

}  // namespace couplet::exchange
