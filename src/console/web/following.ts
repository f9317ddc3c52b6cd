import { useEffect, useRef, useState } from 'preact/hooks';

/** A reader who is this near to the end of the page, and moves down, reads its end. */
const NEAR_PIXELS = 40;
const AT_END_PIXELS = 4;

/** Keeps the end of the page in sight while `box` grows, unless the reader scrolled up. */
export function useFollowing() {
  const box = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const [follows, setFollows] = useState(true);
  const set = (value: boolean) => {
    isFollowing.current = value;
    setFollows(value);
  };
  const toEnd = () => {
    set(true);
    const page = document.scrollingElement!;
    page.scrollTop = page.scrollHeight;
  };
  useEffect(() => {
    const page = document.scrollingElement!;
    let top = page.scrollTop;
    const onScroll = () => {
      const isUp = page.scrollTop < top;
      top = page.scrollTop;
      const left = page.scrollHeight - page.clientHeight - top;
      if (isUp) set(left < AT_END_PIXELS);
      else if (left < NEAR_PIXELS) set(true);
    };
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) page.scrollTop = page.scrollHeight;
    });
    observer.observe(box.current!);
    addEventListener('scroll', onScroll, { passive: true });
    return () => {
      observer.disconnect();
      removeEventListener('scroll', onScroll);
    };
  }, []);
  return { box, follows, toEnd };
}
