#include "task/post.hpp"

#include <xxhash.h>

#include <bit>
#include <utility>

namespace couplet::task {
namespace {

constexpr unsigned number_bits = 40;  // each incarnation has so many bits for its numbers

constexpr std::uint32_t post_context = message::internal_context | 0x7461736B;  // "task"

// Returns true if the letter may come before a listener is there. The others are answers, which no listener waits for
// any longer.
bool begins(wire::LetterKind kind) noexcept {
  using wire::LetterKind;
  return kind == LetterKind::submit || kind == LetterKind::closed || kind == LetterKind::hello ||
         kind == LetterKind::goodbye || kind == LetterKind::withdraw || kind == LetterKind::ask;
}

// Returns the cost of keeping a letter.
std::uint64_t cost_of(const wire::Letter& letter) noexcept {
  return Post::kept_letter_bytes + letter.payload.size() + letter.text.size() +
         letter.numbers.size() * sizeof(std::int64_t);
}

// Cuts the end off a text that is too long for a letter. Texts are for people, so that is no loss of data.
std::string cut(const std::string& text) {
  constexpr std::string_view sign = " ... (cut)";
  std::size_t bytes = wire::largest_letter_text - sign.size();
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) {  // inside a character
    --bytes;
  }
  return text.substr(0, bytes).append(sign);
}

// Does the letter say of its sender what does not hold for the process that has its rank now?
bool is_outdated(const Environment& environment, channel::PeerId source, const wire::Letter& letter) noexcept {
  using wire::LetterKind;
  const bool of_itself =
      letter.kind == LetterKind::closed || letter.kind == LetterKind::hello || letter.kind == LetterKind::goodbye;
  return of_itself && letter.number >> number_bits < environment.incarnation(source);
}

}  // namespace

std::uint64_t space_of(std::string_view kind, std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), XXH3_64bits(kind.data(), kind.size()));
}

Post::Post(Environment& environment)
    : environment_(environment),
      next_number_(std::uint64_t{environment.incarnation(environment.self())} << number_bits) {
  environment_.engine().add(*this, engine::Rate::often);
  receive();
}

Post::~Post() {
  environment_.engine().remove(*this);
}

void Post::receive() {
  auto& messenger = environment_.messenger();
  request_ = messenger.irecv_internal(messenger.groups().universe(), post_context, image_);
}

Status Post::send(channel::PeerId target, const wire::Letter& letter) {
  if (target == environment_.self()) {
    deliver(target, letter);
    return {};
  }
  if (environment_.gone(target)) {
    return fail(Code::peer_lost, "{} is gone", environment_.peer_name(target));
  }
  if (const auto senseless = senseless_.find(target); senseless != senseless_.end()) {
    return senseless->second;
  }
  if (letter.numbers.size() > wire::largest_letter_numbers) {
    return fail(Code::limit, "a task message with {} numbers for {}: at most {} numbers fit into it",
                letter.numbers.size(), environment_.peer_name(target), wire::largest_letter_numbers);
  }
  std::string image;
  if (letter.text.size() > wire::largest_letter_text) {
    wire::Letter shorter = letter;
    shorter.text = cut(letter.text);
    image = wire::encode_letter(shorter);
  } else {
    image = wire::encode_letter(letter);
  }
  auto& messenger = environment_.messenger();
  return messenger.send_internal(messenger.groups().universe(), post_context, std::move(image),
                                 static_cast<std::int32_t>(target), 0);
}

Status Post::listen(std::uint64_t space, Listener& listener) {
  if (!listeners_.emplace(space, &listener).second) {
    return Code::exists;
  }
  ended_.erase(space);
  const auto found = kept_.find(space);
  if (found != kept_.end()) {
    const std::vector<Kept> letters = std::move(found->second);
    kept_.erase(found);
    for (const Kept& kept : letters) {
      kept_bytes_ -= cost_of(kept.letter);
      if (!is_outdated(environment_, kept.source, kept.letter)) {
        listener.letter(kept.source, kept.letter);
      }
    }
  }
  return {};
}

void Post::forget(std::uint64_t space) {
  listeners_.erase(space);
}

void Post::end(std::uint64_t space) {
  forget(space);
  ended_.insert(space);
}

// Refuses a letter for which there is no listener: a late worker group has nothing to do, a request is not taken, an
// area does not exist.
void Post::turn_away(channel::PeerId source, const wire::Letter& letter, const Status& why) {
  wire::Letter answer;
  answer.space = letter.space;
  answer.number = letter.number;
  if (letter.kind == wire::LetterKind::hello) {
    answer.kind = wire::LetterKind::end;
  } else if (letter.kind == wire::LetterKind::submit) {
    answer.kind = wire::LetterKind::taken;
    answer.code = static_cast<std::int32_t>(why.code());
    answer.text = why.text();
  } else if (letter.kind == wire::LetterKind::ask) {
    answer.kind = wire::LetterKind::unknown;
  } else {
    return;  // the sender waits for no answer to it
  }
  static_cast<void>(send(source, answer));
}

void Post::deliver(channel::PeerId source, wire::Letter letter) {
  if (is_outdated(environment_, source, letter)) {
    return;
  }
  const auto found = listeners_.find(letter.space);
  if (found != listeners_.end()) {
    found->second->letter(source, std::move(letter));
    return;
  }
  const std::string self = environment_.peer_name(environment_.self());
  if (ended_.contains(letter.space)) {
    turn_away(source, letter, fail(Code::peer_lost, "{} no longer dispatches tasks", self));
    return;
  }
  if (!begins(letter.kind)) {
    return;
  }
  if (kept_bytes_ + cost_of(letter) > largest_kept_bytes) {
    turn_away(source, letter,
              fail(Code::limit, "{} has not opened the tasks, and already keeps {} bytes of task messages for them",
                   self, kept_bytes_));
    return;
  }
  kept_bytes_ += cost_of(letter);
  auto& kept = kept_[letter.space];
  kept.push_back({source, std::move(letter)});
}

// Reports a peer whose letters cannot be decoded as lost: it speaks another protocol, so no answer from it will come.
void Post::lose(channel::PeerId peer, const Status& why) {
  if (senseless_.contains(peer)) {
    return;
  }
  auto senseless = fail(Code::protocol, "{} has sent a task message that cannot be decoded: {}",
                        environment_.peer_name(peer), why.text());
  senseless_.emplace(peer, senseless);
  // A listener that is told may stop listening.
  const auto listeners = listeners_;
  for (const auto& [space, listener] : listeners) {
    if (listeners_.contains(space)) {
      listener->lost(peer, senseless);
    }
  }
}

void Post::tell_returned() {
  for (const channel::PeerId peer : std::exchange(returned_, {})) {
    const auto listeners = listeners_;
    for (const auto& [space, listener] : listeners) {
      if (listeners_.contains(space)) {
        listener->returned(peer);
      }
    }
  }
}

void Post::lost(channel::PeerId peer, const Status& why) {
  if (senseless_.erase(peer) != 0) {
    return;  // all listeners have been told
  }
  // A listener that is told may stop listening.
  const auto listeners = listeners_;
  for (const auto& [space, listener] : listeners) {
    if (listeners_.contains(space)) {
      listener->lost(peer, why);
    }
  }
}

int Post::poll(std::uint64_t /*now_ns*/, int budget) {
  if (request_ == nullptr) {
    receive();
  }
  tell_returned();
  int work = 0;
  while (work < budget && has_letter()) {
    couplet_message message{};
    const Status status = environment_.messenger().wait(&request_, 0, &message);
    std::string image = std::exchange(image_, {});
    // The sender died in the middle of a letter, or no sender is left; the membership reports which.
    if (!status.ok()) {
      break;  // the next poll asks again
    }
    receive();
    ++work;
    auto letter = wire::decode_letter(image);
    const auto source = static_cast<channel::PeerId>(message.source);
    if (!letter) {
      lose(source, letter.status());
    } else if (!senseless_.contains(source)) {
      deliver(source, std::move(letter).value());
    }
  }
  return work;
}

}  // namespace couplet::task
