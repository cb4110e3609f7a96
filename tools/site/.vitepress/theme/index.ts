// The system's fonts: the others would be half of the site's bytes.
export { default } from "vitepress/theme-without-fonts";
