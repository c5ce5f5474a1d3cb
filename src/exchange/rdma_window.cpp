#include "exchange/rdma_window.hpp"

#include <cstring>
#include <utility>

#include "wire/fields.hpp"

namespace couplet::exchange {
namespace {

constexpr std::uint64_t line_bytes = cache_line_bytes;
constexpr std::uint64_t length_bytes = sizeof(std::uint64_t);
constexpr std::uint64_t max_message_bytes = std::uint64_t{1} << 44U;

// A line that ends with the length, and whole lines.
constexpr std::uint64_t half_bytes(std::uint64_t message_bytes) noexcept {
  return line_bytes + (message_bytes + line_bytes - 1) / line_bytes * line_bytes;
}

constexpr std::uint64_t offset_of(RdmaWindow::Word word) noexcept {
  return static_cast<std::uint64_t>(word) * line_bytes;
}

}  // namespace

RdmaWindow::RdmaWindow(std::shared_ptr<link::Puts> puts, std::span<const Port> ports)
    : puts_(std::move(puts)), ports_(ports.begin(), ports.end()), sources_(std::make_shared<Sources>()) {}

RdmaWindow::~RdmaWindow() {
  if (is_idle()) {
    return;
  }
  try {
    puts_->keep(sources_);
  } catch (const std::bad_alloc&) {
    static_cast<void>(new std::shared_ptr<Sources>(sources_));  // NOLINT: without memory, it can only be left behind
  }
}

// Returns the bytes that are needed.
std::uint64_t RdmaWindow::arrange() {
  std::uint64_t end = 0;
  for (const Port& port : ports_) {
    Place& place = own_.emplace_back();
    place.words = end;
    end += word_count * line_bytes;
    place.message_bytes = port.in_bytes;
    for (std::uint64_t& half : place.halves) {
      half = end;
      end += port.receives ? half_bytes(port.in_bytes) : 0;
    }
  }
  return end;
}

Result<std::unique_ptr<RdmaWindow>> RdmaWindow::open(std::shared_ptr<link::Puts> puts, std::span<const Port> ports) {
  std::unique_ptr<RdmaWindow> window(new RdmaWindow(std::move(puts), ports));
  for (const Port& port : ports) {
    if (port.in_bytes > max_message_bytes || port.out_bytes > max_message_bytes) {
      return fail(Code::unsupported, "messages of {} bytes are too long", std::max(port.in_bytes, port.out_bytes));
    }
    window->sources_->messages.push_back(make_buffer(port.sends ? half_bytes(port.out_bytes) : 0));
  }
  window->sources_->values.resize(ports.size());
  COUPLET_TRY_VALUE(window->memory_, window->puts_->own(window->arrange()));
  return window;
}

Result<std::vector<std::string>> RdmaWindow::invitations() const {
  COUPLET_TRY_VALUE(const std::string memory, memory_->invitation());
  std::vector<std::string> texts;
  for (const Place& place : own_) {
    wire::FieldWriter writer;
    writer.put_text(methods_build);
    writer.put_text(memory);
    for (const std::uint64_t half : place.halves) writer.put(half);
    writer.put(place.words);
    writer.put(place.message_bytes);
    texts.push_back(writer.take());
  }
  return texts;
}

Status RdmaWindow::check(const Place& place, std::uint32_t number, std::uint64_t memory_bytes) const {
  const Port& port = ports_[number];
  const auto fits = [memory_bytes](std::uint64_t offset, std::uint64_t bytes) {
    return offset % line_bytes == 0 && offset <= memory_bytes && bytes <= memory_bytes - offset;
  };
  const std::uint64_t bytes = port.sends ? half_bytes(port.out_bytes) : 0;
  if (place.message_bytes != port.out_bytes || !fits(place.words, word_count * line_bytes) ||
      !fits(place.halves[0], bytes) || !fits(place.halves[1], bytes)) {
    return fail(Code::mismatch, "member {} has places for messages of {} bytes, not of {}", port.peer,
                place.message_bytes, port.out_bytes);
  }
  return {};
}

Status RdmaWindow::connect(std::span<const std::string> invitations) {
  constexpr std::size_t max_text_bytes = 32768;
  for (std::uint32_t number = 0; number < ports_.size(); ++number) {
    wire::FieldReader reader(invitations[number], "an invitation to put");
    const std::string build = reader.take_text("build", max_text_bytes);
    const std::string memory = reader.take_text("memory", max_text_bytes);
    Place place;
    for (std::uint64_t& half : place.halves) half = reader.take<std::uint64_t>("half");
    place.words = reader.take<std::uint64_t>("words");
    place.message_bytes = reader.take<std::uint64_t>("bytes of a message");
    COUPLET_TRY(reader.finish());
    if (build != methods_build) {
      return fail(Code::version, "the build of member {} is '{}', not '{}'", ports_[number].peer, build, methods_build);
    }
    auto target = puts_->target(memory);
    if (!target.ok()) {
      return fail(Code::unsupported, "member {} cannot be reached: {}", ports_[number].peer, target.status().text());
    }
    COUPLET_TRY(check(place, number, (*target)->bytes()));
    theirs_.push_back(place);
    targets_.push_back(std::move(*target));
  }
  return {};
}

std::byte* RdmaWindow::outgoing(std::uint32_t number) const noexcept {
  return sources_->messages[number].get() + line_bytes;
}

Status RdmaWindow::put(std::uint32_t number, std::size_t half, std::uint64_t bytes) {
  std::byte* const from = outgoing(number) - length_bytes;
  std::memcpy(from, &bytes, sizeof bytes);
  const std::uint64_t to = theirs_[number].halves[half] + line_bytes - length_bytes;
  return targets_[number]->put(from, length_bytes + bytes, to, sources_->tally);
}

Status RdmaWindow::put_word(std::uint32_t number, Word word, std::uint64_t value) {
  std::uint64_t& source = sources_->values[number].words[static_cast<std::size_t>(word)];
  source = value;
  return targets_[number]->put(&source, sizeof source, theirs_[number].words + offset_of(word), sources_->tally);
}

Status RdmaWindow::flush(std::uint32_t number) {
  return targets_[number]->flush(sources_->tally);
}

std::uint64_t RdmaWindow::word(std::uint32_t number, Word word) const noexcept {
  const std::byte* const place = memory_->data() + own_[number].words + offset_of(word);
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(place), __ATOMIC_ACQUIRE);
}

Result<std::span<const std::byte>> RdmaWindow::incoming(std::uint32_t number, std::size_t half) const {
  const std::byte* const payload = memory_->data() + own_[number].halves[half] + line_bytes;
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, payload - length_bytes, sizeof bytes);
  if (bytes > ports_[number].in_bytes) {
    return fail(Code::protocol, "member {} says that its message has {} bytes, but at most {} are agreed",
                ports_[number].peer, bytes, ports_[number].in_bytes);
  }
  return std::span<const std::byte>(payload, bytes);
}

Status RdmaWindow::progress() {
  puts_->progress();
  return sources_->tally.failure;
}

}  // namespace couplet::exchange
