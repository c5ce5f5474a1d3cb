#include "series/mpi/window.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <map>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "os/clock.hpp"
#include "os/host.hpp"

namespace couplet::series {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t largest_get = (std::uint64_t{1} << 30) - page_bytes;  // in one call: counts are 32-bit numbers
constexpr int trials = 3;  // measurements of each method, before one is chosen
constexpr auto nap = std::chrono::microseconds(50);

// The methods to get the steps of a batch.
enum class Way : std::uint8_t { all, step, run };
constexpr std::array<std::string_view, 3> way_names = {"one call for all steps", "one call for each step",
                                                       "one call for each row"};

Status mpi_failure(int code, std::string_view call) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return fail(Code::mpi, "{}: {}", call, std::string_view(text.data(), static_cast<std::size_t>(length)));
}
Status check(int code, std::string_view call) {
  return code == MPI_SUCCESS ? Status() : mpi_failure(code, call);
}

// A derived type: runs of bytes at equal distances. Runs without gaps between them are merged into one, since MPI
// libraries do not do this themselves, and would pack the data twice.
class Type {
 public:
  Type() = default;
  ~Type() {
    if (type_ != MPI_DATATYPE_NULL) {
      MPI_Type_free(&type_);
    }
  }
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;

  void begin(std::uint64_t run_bytes) noexcept { run_bytes_ = run_bytes; }
  Status repeat(std::uint64_t count, std::int64_t stride) {
    if (type_ == MPI_DATATYPE_NULL && (count == 1 || stride == static_cast<std::int64_t>(run_bytes_))) {
      run_bytes_ *= count;
      return {};
    }
    COUPLET_TRY(end_run());
    MPI_Datatype outer = MPI_DATATYPE_NULL;
    COUPLET_TRY(check(MPI_Type_create_hvector(static_cast<int>(count), 1, static_cast<MPI_Aint>(stride), type_, &outer),
                      "MPI_Type_create_hvector"));
    MPI_Type_free(&type_);
    type_ = outer;
    return {};
  }
  Status commit() {
    COUPLET_TRY(end_run());
    return check(MPI_Type_commit(&type_), "MPI_Type_commit");
  }
  [[nodiscard]] MPI_Datatype get() const noexcept { return type_; }

 private:
  Status end_run() {
    if (type_ != MPI_DATATYPE_NULL) {
      return {};
    }
    return check(MPI_Type_contiguous(static_cast<int>(run_bytes_), MPI_BYTE, &type_), "MPI_Type_contiguous");
  }

  std::uint64_t run_bytes_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;  // none as long as everything is one run
};

// The types of one step's runs, in the source and in the target.
struct TypePair {
  Type source;
  Type target;

  Status build(const layout::CopyPlan& plan) {
    source.begin(plan.run_bytes);
    target.begin(plan.run_bytes);
    for (int index = plan.loop_count - 1; index >= 0; --index) {
      const auto& loop = plan.loops[static_cast<std::size_t>(index)];
      COUPLET_TRY(repeat(loop.count, static_cast<std::int64_t>(loop.source_stride),
                         static_cast<std::int64_t>(loop.target_stride)));
    }
    return {};
  }
  Status repeat(std::uint64_t count, std::int64_t source_stride, std::int64_t target_stride) {
    COUPLET_TRY(source.repeat(count, source_stride));
    return target.repeat(count, target_stride);
  }
  Status commit() {
    COUPLET_TRY(source.commit());
    return target.commit();
  }
};

class MpiWindow final : public Window {
 public:
  static Result<std::unique_ptr<Window>> open(MPI_Comm job, channel::PeerId self, std::uint64_t bytes, bool direct,
                                              std::uint64_t deadline_ns);
  ~MpiWindow() override = default;

  [[nodiscard]] std::uint64_t job() const noexcept override { return job_.number; }
  [[nodiscard]] bool has(channel::PeerId peer) const noexcept override {
    return std::find(job_.members.begin(), job_.members.end(), peer) != job_.members.end();
  }
  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }
  [[nodiscard]] const std::string& library() const noexcept override { return library_; }
  [[nodiscard]] std::byte* memory_of(int rank, std::uint64_t offset, std::uint64_t bytes) const noexcept override;
  Result<Piece> reserve(std::uint64_t bytes) override;
  void give_back(const Piece& piece) noexcept override { used_ = piece.offset == last_piece_ ? last_piece_ : used_; }
  Status get(int rank, std::uint64_t offset, void* target, std::uint64_t bytes) override;
  Status put(int rank, std::uint64_t offset, const void* source, std::uint64_t bytes) override;
  Status get_steps(int rank, const WindowSteps& steps) override;
  Status complete(int rank) override { return check(MPI_Win_flush(rank, window_), "MPI_Win_flush"); }
  void progress() noexcept override {
    int there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &there, MPI_STATUS_IGNORE);
  }
  [[nodiscard]] std::string sharing() const override { return sharing_; }
  [[nodiscard]] std::string choices() const override;
  Result<bool> end() override;

 private:
  // The measurements for boxes of one form.
  struct Choice {
    std::array<int, way_names.size()> tried{};
    std::array<double, way_names.size()> ns_per_byte{};  // the smallest measured value
    [[nodiscard]] Way next() const noexcept;
    [[nodiscard]] bool settled() const noexcept {
      return std::all_of(tried.begin(), tried.end(), [](int count) { return count >= trials; });
    }
  };
  struct Memory {  // a rank's memory, as it is mapped here
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
  };
  using Form = std::pair<std::uint64_t, std::uint64_t>;  // bytes of a run, runs of a step

  Status allocate(bool direct);
  Status share();
  Status map_neighbours();
  Status get_typed(int rank, const WindowSteps& steps, Way way);
  Status get_all(int rank, const WindowSteps& steps, TypePair& types);
  Status get_runs(int rank, const WindowSteps& steps);

  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm node_ = MPI_COMM_NULL;
  MPI_Win shared_ = MPI_WIN_NULL;  // the memory of the ranks of this node, if they share it
  MPI_Win window_ = MPI_WIN_NULL;  // the memory of all ranks
  MPI_Request ending_ = MPI_REQUEST_NULL;
  bool ended_ = false;
  struct {
    std::uint64_t number = 0;
    std::vector<channel::PeerId> members;  // by rank
  } job_;
  int rank_ = 0;
  int size_ = 0;
  std::byte* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t last_piece_ = UINT64_MAX;  // where the piece begins that was reserved last
  std::string library_;
  std::string sharing_;
  std::vector<Memory> neighbours_;  // by rank; empty: nothing is shared
  std::map<Form, Choice> choices_;
};

Result<std::unique_ptr<Window>> MpiWindow::open(MPI_Comm job, channel::PeerId self, std::uint64_t bytes, bool direct,
                                                std::uint64_t deadline_ns) {
  auto made = std::make_unique<MpiWindow>();
  MPI_Request everybody = MPI_REQUEST_NULL;
  COUPLET_TRY(check(MPI_Ibarrier(job, &everybody), "MPI_Ibarrier"));
  for (int here = 0; here == 0;) {
    COUPLET_TRY(check(MPI_Test(&everybody, &here, MPI_STATUS_IGNORE), "MPI_Test"));
    if (here == 0 && os::now_ns() > deadline_ns) {
      return fail(
          Code::timeout,
          "this rank has asked for a window (COUPLET_MPI_WINDOW_BYTES), but some ranks of the MPI job have not: all "
          "programs of the job must set it, if only to 0");
    }
    if (here == 0) {
      std::this_thread::sleep_for(nap);
    }
  }
  COUPLET_TRY(check(MPI_Comm_dup(job, &made->comm_), "MPI_Comm_dup"));
  MPI_Comm_set_errhandler(made->comm_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(made->comm_, &made->rank_);
  MPI_Comm_size(made->comm_, &made->size_);
  COUPLET_TRY_VALUE(made->job_.number, os::random_bits());
  COUPLET_TRY(check(MPI_Bcast(&made->job_.number, 1, MPI_UINT64_T, 0, made->comm_), "MPI_Bcast"));
  made->job_.members.resize(static_cast<std::size_t>(made->size_));
  COUPLET_TRY(check(MPI_Allgather(&self, 1, MPI_UINT32_T, made->job_.members.data(), 1, MPI_UINT32_T, made->comm_),
                    "MPI_Allgather"));
  made->bytes_ = bytes == 0 ? 0 : bytes + page_bytes;  // one page more, so that the first piece can begin at a page
  COUPLET_TRY(made->allocate(direct));
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  made->library_.assign(text.data(), static_cast<std::size_t>(length));
  made->library_.resize(std::min(made->library_.find_first_of(",\n"), made->library_.size()));
  return std::unique_ptr<Window>(std::move(made));
}

// ---- memory ----

Status MpiWindow::allocate(bool direct) {
  const Status sharing = direct ? share() : fail(Code::unsupported, "not asked for (COUPLET_MPI_WINDOW_DIRECT)");
  int all_share = sharing.ok() ? 1 : 0;
  COUPLET_TRY(check(MPI_Allreduce(MPI_IN_PLACE, &all_share, 1, MPI_INT, MPI_MIN, comm_), "MPI_Allreduce"));
  const auto bytes = static_cast<MPI_Aint>(bytes_);
  if (all_share != 0) {
    int count = 0;
    MPI_Comm_size(node_, &count);
    sharing_ = fmt::format("the {} ranks of this node map each other's memory", count);
    COUPLET_TRY(check(MPI_Win_create(memory_, bytes, 1, MPI_INFO_NULL, comm_, &window_), "MPI_Win_create"));
  } else {
    sharing_ = "no rank maps another one's memory: " + (sharing.ok() ? "not all nodes can" : sharing.text());
    neighbours_.clear();
    if (shared_ != MPI_WIN_NULL) {
      COUPLET_TRY(check(MPI_Win_free(&shared_), "MPI_Win_free"));
    }
    COUPLET_TRY(check(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, comm_, static_cast<void*>(&memory_), &window_),
                      "MPI_Win_allocate"));
  }
  MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
  return check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
}

// Lets the ranks of a node map each other's memory.
Status MpiWindow::share() {
  COUPLET_TRY(
      check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node_), "MPI_Comm_split_type"));
  MPI_Comm_set_errhandler(node_, MPI_ERRORS_RETURN);
  MPI_Info apart = MPI_INFO_NULL;
  MPI_Info_create(&apart);
  MPI_Info_set(apart, "alloc_shared_noncontig", "true");
  const int code =
      MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes_), 1, apart, node_, static_cast<void*>(&memory_), &shared_);
  MPI_Info_free(&apart);
  COUPLET_TRY(check(code, "MPI_Win_allocate_shared"));
  return map_neighbours();
}

Status MpiWindow::map_neighbours() {
  void* model = nullptr;
  int known = 0;
  MPI_Win_get_attr(shared_, MPI_WIN_MODEL, static_cast<void*>(&model), &known);
  if (known == 0 || *static_cast<int*>(model) != MPI_WIN_UNIFIED) {
    return fail(Code::unsupported, "windows of this MPI do not have the unified memory model");
  }
  int count = 0;
  MPI_Comm_size(node_, &count);
  std::vector<int> here(static_cast<std::size_t>(count));
  std::iota(here.begin(), here.end(), 0);
  std::vector<int> ranks(here.size());
  MPI_Group near = MPI_GROUP_NULL;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(node_, &near);
  MPI_Comm_group(comm_, &all);
  MPI_Group_translate_ranks(near, count, here.data(), all, ranks.data());
  MPI_Group_free(&near);
  MPI_Group_free(&all);
  neighbours_.assign(static_cast<std::size_t>(size_), {});
  for (int index = 0; index < count; ++index) {
    MPI_Aint bytes = 0;
    int unit = 0;
    Memory& memory = neighbours_[static_cast<std::size_t>(ranks[static_cast<std::size_t>(index)])];
    COUPLET_TRY(check(MPI_Win_shared_query(shared_, index, &bytes, &unit, static_cast<void*>(&memory.data)),
                      "MPI_Win_shared_query"));
    memory.bytes = static_cast<std::uint64_t>(bytes);
  }
  return {};
}

std::byte* MpiWindow::memory_of(int rank, std::uint64_t offset, std::uint64_t bytes) const noexcept {
  if (neighbours_.empty()) {
    return nullptr;
  }
  const Memory& memory = neighbours_[static_cast<std::size_t>(rank)];
  return offset <= memory.bytes && bytes <= memory.bytes - offset ? memory.data + offset : nullptr;
}

Result<Window::Piece> MpiWindow::reserve(std::uint64_t bytes) {
  if (used_ == 0) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_);
    used_ = (page_bytes - begin % page_bytes) % page_bytes;
  }
  const std::uint64_t wanted = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  const std::uint64_t left = bytes_ - std::min(used_, bytes_);
  if (wanted > left) {
    return fail(
        Code::no_space,
        "{} bytes are needed in the window of the MPI job, but this rank has only {} left (COUPLET_MPI_WINDOW_BYTES)",
        wanted, left / page_bytes * page_bytes);
  }
  const Piece piece{memory_ + used_, used_};
  last_piece_ = used_;
  used_ += wanted;
  std::memset(piece.data, 0, wanted);
  return piece;
}

Status MpiWindow::get(int rank, std::uint64_t offset, void* target, std::uint64_t bytes) {
  auto* out = static_cast<std::byte*>(target);
  for (std::uint64_t done = 0; done < bytes;) {
    const auto piece = static_cast<int>(std::min(bytes - done, largest_get));
    COUPLET_TRY(check(
        MPI_Get(out + done, piece, MPI_BYTE, rank, static_cast<MPI_Aint>(offset + done), piece, MPI_BYTE, window_),
        "MPI_Get"));
    done += static_cast<std::uint64_t>(piece);
  }
  return {};
}

Status MpiWindow::put(int rank, std::uint64_t offset, const void* source, std::uint64_t bytes) {
  return check(MPI_Put(source, static_cast<int>(bytes), MPI_BYTE, rank, static_cast<MPI_Aint>(offset),
                       static_cast<int>(bytes), MPI_BYTE, window_),
               "MPI_Put");
}

// ---- steps ----

Way MpiWindow::Choice::next() const noexcept {
  const auto least = std::min_element(tried.begin(), tried.end());
  if (*least < trials) {
    return static_cast<Way>(least - tried.begin());
  }
  return static_cast<Way>(std::min_element(ns_per_byte.begin(), ns_per_byte.end()) - ns_per_byte.begin());
}

// The first copies of boxes of one form are measured, with each method in turn. Then the fastest method is used.
Status MpiWindow::get_steps(int rank, const WindowSteps& steps) {
  const std::uint64_t step_bytes = steps.plan->bytes();
  if (step_bytes == 0 || steps.count == 0) {
    return {};
  }
  if (step_bytes > largest_get || steps.plan->run_bytes > largest_get) {
    return get_runs(rank, steps);
  }
  Choice& choice = choices_[{steps.plan->run_bytes, steps.plan->runs()}];
  const Way way = choice.next();
  if (choice.settled()) {
    return get_typed(rank, steps, way);
  }
  COUPLET_TRY(complete(rank));
  const std::uint64_t start = os::now_ns();
  COUPLET_TRY(get_typed(rank, steps, way));
  COUPLET_TRY(complete(rank));
  const double ns_per_byte = static_cast<double>(os::now_ns() - start) / static_cast<double>(step_bytes * steps.count);
  const auto index = static_cast<std::size_t>(way);
  double& least = choice.ns_per_byte[index];
  least = choice.tried[index]++ == 0 ? ns_per_byte : std::min(least, ns_per_byte);
  return {};
}

Status MpiWindow::get_typed(int rank, const WindowSteps& steps, Way way) {
  const layout::CopyPlan& plan = *steps.plan;
  if (way == Way::run) {
    return get_runs(rank, steps);
  }
  TypePair types;
  COUPLET_TRY(types.build(plan));
  if (way == Way::all) {
    return get_all(rank, steps, types);
  }
  COUPLET_TRY(types.commit());
  for (std::uint64_t step = 0; step < steps.count; ++step) {
    COUPLET_TRY(
        check(MPI_Get(steps.target + static_cast<std::int64_t>(step) * steps.target_step + plan.target_offset, 1,
                      types.target.get(), rank,
                      static_cast<MPI_Aint>(steps.source_offset + step * steps.source_step + plan.source_offset), 1,
                      types.source.get(), window_),
              "MPI_Get"));
  }
  return {};
}

// Gets with each call as many steps as its size limit allows, and what is left over one by one.
Status MpiWindow::get_all(int rank, const WindowSteps& steps, TypePair& types) {
  const layout::CopyPlan& plan = *steps.plan;
  const std::uint64_t most = std::max<std::uint64_t>(1, largest_get / plan.bytes());
  const std::uint64_t first = std::min(steps.count, most);
  const std::uint64_t calls = steps.count / first;
  COUPLET_TRY(types.repeat(first, static_cast<std::int64_t>(steps.source_step), steps.target_step));
  COUPLET_TRY(types.commit());
  for (std::uint64_t call = 0; call < calls; ++call) {
    const std::uint64_t step = call * first;
    COUPLET_TRY(
        check(MPI_Get(steps.target + static_cast<std::int64_t>(step) * steps.target_step + plan.target_offset, 1,
                      types.target.get(), rank,
                      static_cast<MPI_Aint>(steps.source_offset + step * steps.source_step + plan.source_offset), 1,
                      types.source.get(), window_),
              "MPI_Get"));
  }
  const std::uint64_t done = calls * first;
  if (done == steps.count) {
    return {};
  }
  WindowSteps rest = steps;
  rest.source_offset += done * steps.source_step;
  rest.target += static_cast<std::int64_t>(done) * steps.target_step;
  rest.count -= done;
  return get_typed(rank, rest, Way::step);
}

Status MpiWindow::get_runs(int rank, const WindowSteps& steps) {
  const layout::CopyPlan& plan = *steps.plan;
  const std::uint64_t runs = plan.runs();
  for (std::uint64_t step = 0; step < steps.count; ++step) {
    for (std::uint64_t run = 0; run < runs; ++run) {
      std::uint64_t source = steps.source_offset + step * steps.source_step + plan.source_offset;
      std::uint64_t target = plan.target_offset;
      std::uint64_t left = run;
      for (int index = plan.loop_count - 1; index >= 0; --index) {
        const auto& loop = plan.loops[static_cast<std::size_t>(index)];
        source += left % loop.count * loop.source_stride;
        target += left % loop.count * loop.target_stride;
        left /= loop.count;
      }
      COUPLET_TRY(get(rank, source, steps.target + static_cast<std::int64_t>(step) * steps.target_step + target,
                      plan.run_bytes));
    }
  }
  return {};
}

std::string MpiWindow::choices() const {
  std::string text;
  for (const auto& [form, choice] : choices_) {
    if (!choice.settled()) {
      continue;
    }
    const auto way = static_cast<std::size_t>(choice.next());
    text += fmt::format("{}{} rows of {} bytes: {} ({:.3g} ms/MB)", text.empty() ? "" : "; ", form.second, form.first,
                        way_names[way], choice.ns_per_byte[way]);
  }
  return text;
}

// ---- the end ----

Result<bool> MpiWindow::end() {
  if (ended_) {
    return true;
  }
  if (ending_ == MPI_REQUEST_NULL) {
    COUPLET_TRY(check(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all"));
    COUPLET_TRY(check(MPI_Ibarrier(comm_, &ending_), "MPI_Ibarrier"));
  }
  int all = 0;
  COUPLET_TRY(check(MPI_Test(&ending_, &all, MPI_STATUS_IGNORE), "MPI_Test"));
  if (all == 0) {
    return false;
  }
  ended_ = true;
  COUPLET_TRY(check(MPI_Win_free(&window_), "MPI_Win_free"));
  if (shared_ != MPI_WIN_NULL) {
    COUPLET_TRY(check(MPI_Win_free(&shared_), "MPI_Win_free"));
  }
  if (node_ != MPI_COMM_NULL) {
    MPI_Comm_free(&node_);
  }
  MPI_Comm_free(&comm_);
  return true;
}

}  // namespace

Result<std::unique_ptr<Window>> open_mpi_window(MPI_Comm job, channel::PeerId self, std::uint64_t bytes, bool direct,
                                                std::uint64_t deadline_ns) {
  return MpiWindow::open(job, self, bytes, direct, deadline_ns);
}

}  // namespace couplet::series
