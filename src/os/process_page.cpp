#include "os/process_page.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "os/clock.hpp"
#include "os/directory.hpp"
#include "os/fork.hpp"
#include "os/host.hpp"

namespace couplet::os {
namespace {

static_assert(sizeof(SleepFlag) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);

template <typename T>
T& at(const MappedFile& file, std::size_t offset) noexcept {
  return *std::launder(reinterpret_cast<T*>(file.data() + offset));
}

std::atomic<std::uint32_t>& knock_count(const MappedFile& file) noexcept {
  return at<std::atomic<std::uint32_t>>(file, wire::page_knock_count_offset);
}

std::atomic<std::uint64_t>& knock_word(const MappedFile& file, std::size_t word) noexcept {
  return at<std::atomic<std::uint64_t>>(file, wire::page_knocks_offset + 8 * word);
}

void put_name(std::array<char, 64>& field, const std::string& name) noexcept {
  std::copy_n(name.begin(), std::min(name.size(), field.size() - 1), field.begin());
}

wire::PageHeader header_for(const PageOwner& owner, const MappedFile& file) {
  wire::PageHeader header;
  header.page_bytes = static_cast<std::uint32_t>(file.size());
  header.run_id = owner.run_id;
  header.peer = owner.peer;
  header.incarnation = owner.incarnation;
  header.process = process_id();
  header.rank = owner.rank;
  header.memory_nonce = owner.memory_nonce;
  header.mapped_address = reinterpret_cast<std::uintptr_t>(file.data());
  header.started_ns = now_ns();
  header.rank_count = owner.rank_count;
  header.knock_words = wire::page_knock_words(owner.rank_count);
  header.knocks_offset = wire::page_knocks_offset;
  header.counters_offset = wire::page_counters_offset;
  header.counter_count = owner.counter_count;
  put_name(header.program, owner.program);
  put_name(header.host, owner.host);
  return header;
}

}  // namespace

std::string page_path(const std::string& directory, std::uint32_t peer) {
  return fmt::format("{}/page-{:08x}", directory, peer);
}

std::string bell_path(const std::string& directory, std::uint32_t peer) {
  return fmt::format("{}/bell-{:08x}", directory, peer);
}

ProcessPage::ProcessPage(std::unique_ptr<MappedFile> file, std::unique_ptr<LifeLock> lock, const PageOwner& owner)
    : file_(std::move(file)),
      lock_(std::move(lock)),
      rank_count_(owner.rank_count),
      memory_nonce_(owner.memory_nonce),
      generation_(fork_generation()) {}

ProcessPage::~ProcessPage() {
  if (generation_ == fork_generation()) {
    // A page that stays is found by `couplet clean`.
    static_cast<void>(file_->remove());
  }
}

Result<std::unique_ptr<ProcessPage>> ProcessPage::create(const std::string& directory, const PageOwner& owner) {
  if (owner.rank_count == 0 || owner.rank_count > wire::page_most_ranks ||
      owner.counter_count > wire::page_counter_capacity) {
    return fail(Code::limit, "a process page for {} ranks and {} counters cannot be made (at most {} and {})",
                owner.rank_count, owner.counter_count, wire::page_most_ranks, wire::page_counter_capacity);
  }
  const auto path = page_path(directory, owner.peer);
  if (is_locked(path)) {
    return fail(Code::exists, "{} belongs to a living process", path);
  }
  COUPLET_TRY_VALUE(auto file,
                    MappedFile::create(temporary_name(directory, "page-new"), wire::page_bytes_for(owner.rank_count)));
  const auto header = header_for(owner, *file);
  std::memcpy(file->data(), &header, sizeof header);
  auto lock = LifeLock::take(file->path());
  auto status = lock.ok() ? file->rename_to(path) : lock.status();
  if (!status.ok()) {
    static_cast<void>(file->remove());
    return status;
  }
  return std::unique_ptr<ProcessPage>(new ProcessPage(std::move(file), std::move(lock).value(), owner));
}

SleepFlag& ProcessPage::sleep_flag() noexcept {
  return at<SleepFlag>(*file_, wire::page_sleep_offset);
}

std::span<std::atomic<std::uint64_t>> ProcessPage::counters() noexcept {
  return {&at<std::atomic<std::uint64_t>>(*file_, wire::page_counters_offset), wire::page_counter_capacity};
}

void ProcessPage::refuse_links(std::uint32_t bits) noexcept {
  at<std::atomic<std::uint32_t>>(*file_, offsetof(wire::PageHeader, refused_links))
      .store(bits, std::memory_order_release);
}

bool ProcessPage::knocked() const noexcept {
  return knock_count(*file_).load(std::memory_order_acquire) != seen_knocks_;
}

std::vector<std::uint32_t> ProcessPage::take_knocks(std::uint32_t relay_base) {
  std::vector<std::uint32_t> peers;
  seen_knocks_ = knock_count(*file_).load(std::memory_order_acquire);
  for (std::uint32_t word = 0; word < wire::page_knock_words(rank_count_); ++word) {
    auto& bits = knock_word(*file_, word);
    if (bits.load(std::memory_order_relaxed) == 0) {
      continue;
    }
    const auto taken = bits.exchange(0, std::memory_order_acquire);
    for (std::uint32_t bit = 0; bit < 64; ++bit) {
      if ((taken >> bit & 1U) != 0) {
        const auto number = word * 64 + bit;
        peers.push_back(number < rank_count_ ? number : relay_base + (number - rank_count_));
      }
    }
  }
  return peers;
}

PeerPage::PeerPage(std::unique_ptr<MappedFile> file, std::unique_ptr<LockProbe> probe, const wire::PageHeader& header)
    : file_(std::move(file)), probe_(std::move(probe)), header_(header) {}

Result<std::unique_ptr<PeerPage>> PeerPage::open(const std::string& directory, std::uint32_t peer) {
  const auto path = page_path(directory, peer);
  COUPLET_TRY_VALUE(auto probe, LockProbe::open(path));
  COUPLET_TRY_VALUE(auto file, MappedFile::open(path, Access::read_write));
  auto header = wire::decode_page_header(file->bytes());
  if (!header.ok()) {
    return header.status().within(path);
  }
  if (header->peer != peer) {
    return fail(Code::protocol, "{} says that it belongs to peer {}", path, header->peer);
  }
  // Between the two openings a new incarnation may have replaced the file.
  if (!probe->held()) {
    COUPLET_TRY_VALUE(probe, LockProbe::open(path));
  }
  return std::unique_ptr<PeerPage>(new PeerPage(std::move(file), std::move(probe), *header));
}

SleepFlag& PeerPage::sleep_flag() noexcept {
  return at<SleepFlag>(*file_, wire::page_sleep_offset);
}

std::uint32_t PeerPage::refused_links() const noexcept {
  return at<std::atomic<std::uint32_t>>(*file_, offsetof(wire::PageHeader, refused_links))
      .load(std::memory_order_acquire);
}

bool PeerPage::knock(std::uint32_t bit) noexcept {
  if (bit / 64 >= header_.knock_words) {
    return false;
  }
  knock_word(*file_, bit / 64).fetch_or(std::uint64_t{1} << (bit % 64), std::memory_order_release);
  knock_count(*file_).fetch_add(1, std::memory_order_release);
  return true;
}

}  // namespace couplet::os
