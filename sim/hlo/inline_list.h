// SPDX-License-Identifier: Apache-2.0
// A vector that keeps its first N elements inside: what dimensions, tiles and operands are made of. A dump holds
// 10^6 of them, so the bookkeeping is 8 bytes (boost's small_vector takes 24) and copies of short lists are inline.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace spillway::hlo {

/// As std::vector where it has the same names; moving invalidates iterators.
template <class T, std::uint32_t N>
class InlineList {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  InlineList() noexcept {}
  explicit InlineList(std::size_t count, const T& value = T()) { assign(count, value); }
  InlineList(std::initializer_list<T> values) { Append(values.begin(), values.end()); }
  template <class It, class = typename std::iterator_traits<It>::iterator_category>
  InlineList(It first, It last) { Append(first, last); }
  InlineList(const InlineList& other) { Append(other.begin(), other.end()); }
  InlineList(InlineList&& other) noexcept { Take(other); }
  ~InlineList() { Destroy(); }

  InlineList& operator=(const InlineList& other) {
    if (this == &other) return *this;
    clear();
    Append(other.begin(), other.end());
    return *this;
  }
  InlineList& operator=(InlineList&& other) noexcept {
    if (this == &other) return *this;
    Destroy();
    Take(other);
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return IsInline() ? reinterpret_cast<T*>(inline_) : heap_; }
  const T* data() const { return IsInline() ? reinterpret_cast<const T*>(inline_) : heap_; }
  iterator begin() { return data(); }
  iterator end() { return data() + size_; }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + size_; }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& front() { return *data(); }
  const T& front() const { return *data(); }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void reserve(std::size_t count) {
    if (count > capacity_) Grow(count);
  }
  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (size_ == capacity_) {
      T value(std::forward<Arguments>(arguments)...);  // an argument may be an element of this list
      Grow(std::size_t{2} * capacity_);
      return *new (data() + size_++) T(std::move(value));
    }
    return *new (data() + size_++) T(std::forward<Arguments>(arguments)...);
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  void pop_back() { std::destroy_at(data() + --size_); }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }
  void resize(std::size_t count, const T& value = T()) {
    while (size_ > count) pop_back();
    reserve(count);
    while (size_ < count) emplace_back(value);
  }
  void assign(std::size_t count, const T& value) {
    const T copy = value;
    clear();
    resize(count, copy);
  }
  /// REQUIRES: a range outside this list, also of insert.
  template <class It, class = typename std::iterator_traits<It>::iterator_category>
  void assign(It first, It last) {
    clear();
    Append(first, last);
  }
  iterator insert(const_iterator where, const T& value) {
    const std::ptrdiff_t at = where - begin();
    emplace_back(value);
    std::rotate(begin() + at, end() - 1, end());
    return begin() + at;
  }
  template <class It, class = typename std::iterator_traits<It>::iterator_category>
  iterator insert(const_iterator where, It first, It last) {
    const std::ptrdiff_t at = where - begin(), before = static_cast<std::ptrdiff_t>(size_);
    Append(first, last);
    std::rotate(begin() + at, begin() + before, end());
    return begin() + at;
  }
  iterator erase(const_iterator where) { return erase(where, where + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    const iterator to = begin() + (first - begin());
    if (first == last) return to;  // no element may be moved to itself
    const iterator tail = std::move(begin() + (last - begin()), end(), to);
    std::destroy(tail, end());
    size_ = static_cast<std::uint32_t>(tail - begin());
    return to;
  }

  friend bool operator==(const InlineList& a, const InlineList& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }
  friend bool operator!=(const InlineList& a, const InlineList& b) { return !(a == b); }
  friend bool operator<(const InlineList& a, const InlineList& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  bool IsInline() const { return capacity_ == N; }

  template <class It>
  void Append(It first, It last) {
    const auto count = static_cast<std::size_t>(std::distance(first, last));
    reserve(size_ + count);
    std::uninitialized_copy(first, last, end());
    size_ += static_cast<std::uint32_t>(count);
  }
  void Grow(std::size_t count) {
    T* moved = std::allocator<T>().allocate(count);
    std::uninitialized_move(begin(), end(), moved);
    const std::uint32_t size = size_;
    Destroy();
    heap_ = moved;
    size_ = size;
    capacity_ = static_cast<std::uint32_t>(count);
  }
  /// Leaves the members as they are, but nothing in them is alive.
  void Destroy() {
    std::destroy(begin(), end());
    if (!IsInline()) std::allocator<T>().deallocate(heap_, capacity_);
  }
  /// REQUIRES: nothing alive here.
  void Take(InlineList& other) {
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (IsInline()) {
      std::uninitialized_move(other.begin(), other.end(), begin());
      other.clear();
      return;
    }
    heap_ = other.heap_;
    other.capacity_ = N;
    other.size_ = 0;
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;  ///< More than N: on the heap.
  union {
    alignas(T) unsigned char inline_[N * sizeof(T)];
    T* heap_;
  };
};

}  // namespace spillway::hlo
