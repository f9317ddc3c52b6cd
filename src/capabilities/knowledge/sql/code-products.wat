;; The dot products of one vector of codes, which lies at address 0, with many rows of codes.
;; A code is a signed byte. The length of a row is a multiple of 16, the bytes of one vector register.
(module
  (import "lango" "memory" (memory 1))

  ;; Takes each row of `length` bytes from `row` to `end`, and writes its product to `out` as 32 bits.
  (func (export "multiply") (param $row i32) (param $end i32) (param $length i32) (param $out i32)
    (local $index i32)
    (local $sum v128) ;; four sums, added up at the end of the row
    (local $left v128)
    (local $right v128)

    (block $done
      (loop $rows
        (br_if $done (i32.ge_u (local.get $row) (local.get $end)))
        (local.set $sum (v128.const i32x4 0 0 0 0))
        (local.set $index (i32.const 0))

        (loop $codes
          (local.set $left (v128.load (i32.add (local.get $row) (local.get $index))))
          (local.set $right (v128.load (local.get $index)))
          ;; Products of 16 bits, added in pairs to 32 bits: no value can overflow.
          (local.set $sum
            (i32x4.add
              (i32x4.add
                (local.get $sum)
                (i32x4.extadd_pairwise_i16x8_s
                  (i16x8.extmul_low_i8x16_s (local.get $left) (local.get $right))))
              (i32x4.extadd_pairwise_i16x8_s
                (i16x8.extmul_high_i8x16_s (local.get $left) (local.get $right)))))
          (local.set $index (i32.add (local.get $index) (i32.const 16)))
          (br_if $codes (i32.lt_u (local.get $index) (local.get $length))))

        (i32.store
          (local.get $out)
          (i32.add
            (i32.add (i32x4.extract_lane 0 (local.get $sum)) (i32x4.extract_lane 1 (local.get $sum)))
            (i32.add (i32x4.extract_lane 2 (local.get $sum)) (i32x4.extract_lane 3 (local.get $sum)))))
        (local.set $out (i32.add (local.get $out) (i32.const 4)))
        (local.set $row (i32.add (local.get $row) (local.get $length)))
        (br $rows)))))
